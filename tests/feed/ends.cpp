// Streams that hang, are cancelled, or may take only so much memory.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/data/map.hpp>
#include <loadax/data/simple_dataset.hpp>
#include <loadax/data/worker_activity.hpp>
#include <loadax/feed/sharded_dataloader.hpp>
#include <loadax/placement/runtime.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/loading.hpp"
#include "support/meshes.hpp"
#include "support/quiet.hpp"
#include "support/resources.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::Gate;
using loadax_test::mesh_of;
using loadax_test::message_of;
using loadax_test::numbers;
using loadax_test::QuietLog;
using loadax_test::Resources;
using loadax_test::worker_counts;
using namespace std::chrono_literals;

namespace {

auto hanging(std::shared_ptr<Gate> gate, int hung) {
  return numbers(32).map([gate, hung](int i) {
    if (i == hung) gate->pass();
    return std::vector<int>{i};
  });
}

}  // namespace

TEST_CASE("a stream that hangs is given up after its timeout, and its parts live on", "[feed]") {
  const QuietLog quiet;
  const Resources resources;
  for (const std::size_t workers : {1u, 2u, 7u}) {
    const auto gate = std::make_shared<Gate>();
    std::weak_ptr<lx::Runtime> runtime_lives;
    {
      const auto runtime = std::make_shared<lx::Runtime>();
      runtime_lives = runtime;
      lx::MeshScope scope{mesh_of({2}, {"data"}), runtime};
      lx::ShardedDataloader loader{
          hanging(gate, 13),
          lx::P("data"),
          {.global_batch_size = 8, .epochs = 3, .num_workers = workers, .timeout = 300ms}};
      const auto epoch = *loader.epochs().begin();
      auto it = epoch.begin();
      CHECK(it->get<0>().shape() == lx::Shape{8, 1});
      ++it;
      CHECK(contains(message_of<lx::TimeoutError>([&] { (void)*it; }),
                     {"transform", "batch 1", "0.3 s", "sample 13", "hint:"}));
      CHECK(it.failure()->sample == 13);
      CHECK(it.failure()->stage == lx::LoadStage::transform);
      const auto dead = [](auto use) {
        return contains(message_of<lx::StateError>(use), {"gave up after a timeout", "hint:"});
      };
      CHECK(dead([&] { (void)*it; }));
      CHECK(dead([&] { ++it; }));
      auto epochs = loader.epochs().begin();
      CHECK(dead([&] { ++epochs; }));
      CHECK(loader.progress().batches_processed == 1);
    }
    CHECK_FALSE(runtime_lives.expired());
    gate->open();
    CHECK(resources.unchanged());
    CHECK(runtime_lives.expired());
  }
}

TEST_CASE("leaving an epoch whose batch hangs takes until the timeout", "[feed]") {
  const QuietLog quiet;
  lx::MeshScope scope{mesh_of({2}, {"data"})};
  const Resources resources;
  const auto gate = std::make_shared<Gate>();
  {
    lx::ShardedDataloader loader{
        hanging(gate, 5),
        lx::P("data"),
        {.global_batch_size = 8, .epochs = 3, .num_workers = 1, .timeout = 50ms}};
    while (gate->waiting == 0) std::this_thread::yield();
    auto epochs = loader.epochs().begin();
    CHECK(contains(message_of<lx::TimeoutError>([&] { ++epochs; }), {"batch 0", "sample 5"}));
  }
  gate->open();
  CHECK(resources.unchanged());
}

TEST_CASE("a cancelled stream says so in every epoch that is left", "[feed]") {
  lx::MeshScope scope{mesh_of({2}, {"data"})};
  for (const std::size_t workers : worker_counts) {
    std::stop_source stop;
    lx::ShardedDataloader loader{numbers(32),
                                 lx::P("data"),
                                 {.global_batch_size = 8,
                                  .epochs = 4,
                                  .num_workers = workers,
                                  .stop_token = stop.get_token()}};
    std::size_t delivered = 0, cancelled = 0;
    for (auto epoch : loader.epochs()) {
      try {
        for (const auto& batch : epoch) {
          CHECK(batch.get<0>().shape() == lx::Shape{8});
          if (++delivered == 6) stop.request_stop();
        }
      } catch (const lx::CancelledError& error) {
        CHECK(contains(error.what(), {"cancelled before batch", "hint:"}));
        ++cancelled;
      }
    }
    CHECK(delivered == 6);
    CHECK(cancelled == 3);
  }
}

TEST_CASE("destroying a stream asks a transform that blocks to stop", "[feed]") {
  lx::MeshScope scope{mesh_of({2}, {"data"})};
  const Resources resources;
  for (const std::size_t workers : {1u, 2u, 7u}) {
    std::atomic<int> blocked{0};
    {
      lx::ShardedDataloader loader{numbers(64).map([&](int i) {
                                     ++blocked;
                                     while (!lx::loading_stop_token().stop_requested())
                                       std::this_thread::sleep_for(1ms);
                                     return i;
                                   }),
                                   lx::P("data"),
                                   {.global_batch_size = 8, .num_workers = workers}};
      while (blocked == 0) std::this_thread::yield();
    }
    CHECK(blocked <= static_cast<int>(workers));
  }
  CHECK(resources.unchanged());
}

TEST_CASE("batches on the devices take no more bytes than max_prefetch_bytes", "[feed]") {
  const QuietLog quiet;
  lx::MeshScope scope{mesh_of({2, 2}, {"data", "model"})};
  const auto used = [](bool peak) {
    std::size_t sum = 0;
    for (const auto& device : lx::current_mesh().devices()) {
      auto& memory = *lx::current_runtime()->memory(device);
      sum += peak ? memory.peak_bytes() : memory.bytes_in_use();
      if (!peak) memory.reset_peak();
    }
    return sum;
  };
  using Row = std::array<std::int32_t, 64>;
  const auto rows = numbers(512).map([](int i) {
    Row row;
    row.fill(i);
    return row;
  });
  // Each row lies on two devices: 16 rows of 256 bytes and 1 of the mask, twice.
  const std::size_t batch_bytes = 2 * 16 * 257;
  for (const std::size_t workers : worker_counts)
    for (const std::size_t batches : {1u, 2u, 5u}) {
      const std::size_t before = used(false);
      lx::ShardedDataloader loader{rows,
                                   lx::P("data"),
                                   {.global_batch_size = 16,
                                    .epochs = 3,
                                    .num_workers = workers,
                                    .prefetch_factor = 4,
                                    .on_error = lx::OnError::skip(),
                                    .max_prefetch_bytes = batches * batch_bytes + 100}};
      std::size_t delivered = 0;
      for (auto epoch : loader.epochs())
        for (const auto& batch : epoch) {
          if (delivered++ % 16 == 0) std::this_thread::sleep_for(5ms);
          CHECK(batch.get<0>().addressable_shards()[0].values()[0] ==
                static_cast<int>((delivered - 1) % 32 * 16));
        }
      CHECK(delivered == 96);
      const std::size_t most = std::min<std::size_t>(batches, 4 * workers + 1);
      CHECK(used(true) - before == most * batch_bytes);
      CHECK(loader.statistics().bytes == 96 * batch_bytes);
    }
  lx::ShardedDataloader small{
      rows, lx::P("data"), {.global_batch_size = 16, .max_prefetch_bytes = 8191}};
  const auto epoch = *small.epochs().begin();
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)*epoch.begin(); }),
                 {"batch 0 takes 8192 bytes", "max_prefetch_bytes is 8191", "hint:"}));
}

TEST_CASE("options of the engine that cannot be are refused by both loaders' names", "[feed]") {
  lx::MeshScope scope{mesh_of({2}, {"data"})};
  CHECK(contains(message_of<lx::ArgumentError>([] {
                   lx::ShardedDataloader{
                       numbers(8), lx::P("data"), {.global_batch_size = 4, .timeout = 1s}};
                 }),
                 {"ShardedDataloader", "timeout", "num_workers = 0", "hint:"}));
}
