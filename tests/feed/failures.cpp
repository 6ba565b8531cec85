// A stream over a mesh that fails at each of its fault points, and what the process holds after.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <loadax/data/map.hpp>
#include <loadax/data/simple_dataset.hpp>
#include <loadax/feed/sharded_dataloader.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/faults.hpp"
#include "support/loading.hpp"
#include "support/meshes.hpp"
#include "support/quiet.hpp"
#include "support/resources.hpp"

namespace lx = loadax;
using loadax_test::FaultInjector;
using loadax_test::mesh_of;
using loadax_test::message_of;
using loadax_test::Mine;
using loadax_test::numbers;
using loadax_test::QuietLog;
using loadax_test::Resources;
using loadax_test::worker_counts;

namespace {

/// 12 KiB a sample.
auto large(std::size_t n) {
  return numbers(n).map([](int i) { return std::vector<int>(3072, i); });
}

/// Destroys a stream of two epochs of four batches while it is at batch `leave`.
void leave_at(std::size_t leave, const lx::ShardedDataloaderOptions& options) {
  lx::ShardedDataloader loader{large(32), lx::P("data"), options};
  std::size_t k = 0;
  for (auto epoch : loader.epochs())
    for (const auto& batch : epoch)
      if (k++ == leave || batch.get<0>().shape()[0] != 8) return;
}

}  // namespace

TEST_CASE("a failure at each fault point is told with its stage, and the stream goes on",
          "[feed]") {
  const QuietLog quiet;
  lx::MeshScope scope{mesh_of({2}, {"data"})};
  for (const auto stage : {lx::LoadStage::open, lx::LoadStage::source, lx::LoadStage::transform,
                           lx::LoadStage::collate, lx::LoadStage::place, lx::LoadStage::deliver})
    for (const std::size_t workers : worker_counts) {
      INFO(name(stage) << " workers " << workers);
      const bool of_sample = stage == lx::LoadStage::source || stage == lx::LoadStage::transform ||
                             stage == lx::LoadStage::collate;
      std::atomic<int> calls{0};
      const FaultInjector faults([&, stage, of_sample](std::string_view point, std::uint64_t at) {
        if (point != name(stage)) return;
        const bool fails = of_sample                         ? at == 13 && calls++ == 0
                           : stage == lx::LoadStage::deliver ? at == 3
                                                             : calls++ == 3;
        if (fails) throw std::runtime_error("injected");
      });
      lx::ShardedDataloader loader{numbers(16).map([](int i) { return i; }),
                                   lx::P("data"),
                                   {.global_batch_size = 4, .epochs = 3, .num_workers = workers}};
      int failed = 0, delivered = 0;
      for (auto epoch : loader.epochs())
        for (auto it = epoch.begin(); it != epoch.end(); ++it) {
          try {
            const auto& batch = *it;
            delivered += batch.get<0>().shape() == lx::Shape{4};
          } catch (const std::runtime_error& error) {
            CHECK(error.what() == std::string("injected"));
            REQUIRE(it.failure() != nullptr);
            CHECK(it.failure()->stage == stage);
            CHECK(it.failure()->sample == (of_sample ? 13 : lx::no_sample));
            if (of_sample || stage == lx::LoadStage::deliver) CHECK(it.failure()->batch % 4 == 3);
            ++failed;
          }
        }
      CHECK(failed == 1);
      CHECK(delivered == 11);
    }
}

TEST_CASE("however a stream ends, threads, files and memory are as before", "[feed]") {
  const QuietLog quiet;
  lx::MeshScope scope{mesh_of({2}, {"data"})};
  for (const std::size_t workers : worker_counts) {
    INFO("workers " << workers);
    const lx::ShardedDataloaderOptions options{
        .global_batch_size = 8, .epochs = 2, .num_workers = workers};
    const auto use = [&] {
      for (std::size_t leave = 0; leave <= 8; ++leave) leave_at(leave, options);
      CHECK(message_of<std::runtime_error>([&] {
              lx::ShardedDataloader loader{large(32), lx::P("data"), options};
              for (auto epoch : loader.epochs())
                for ([[maybe_unused]] const auto& batch : epoch)
                  throw std::runtime_error("consumer");
            }) == "consumer");
      try {
        lx::ShardedDataloader loader{
            numbers(32).map([](int i) { return i == 13 ? throw Mine(i) : i; }), lx::P("data"),
            options};
        std::size_t k = 0;
        for (auto epoch : loader.epochs())
          for ([[maybe_unused]] const auto& batch : epoch) CHECK(k++ == 0);
        FAIL("nothing was thrown");
      } catch (const Mine& error) {
        CHECK(error.sample == 13);
      }
    };
    use();  // what the first use takes for good
    const Resources resources;
    for (int i = 0; i < 10; ++i) use();
    CHECK(resources.unchanged());
    CHECK(resources.resident_growth() < 8 * 1024 * 1024);
  }
}

TEST_CASE("resident memory stays flat over 50 epochs of a stream", "[feed]") {
  lx::MeshScope scope{mesh_of({2}, {"data"})};
  for (const std::size_t workers : worker_counts) {
    INFO("workers " << workers);
    lx::ShardedDataloader loader{
        large(96), lx::P("data"), {.global_batch_size = 8, .epochs = 60, .num_workers = workers}};
    std::ptrdiff_t growth = 0;
    Resources resources;
    for (auto epoch : loader.epochs()) {
      if (epoch.index() == 10) resources = Resources();  // the allocator's arenas have grown
      for (const auto& batch : epoch)
        if (batch.get<0>().shape()[0] != 8) throw std::logic_error("rows");
      growth = resources.resident_growth();
    }
    // An epoch's batches are 1.1 MiB: a leak of one in ten epochs' would show.
    CHECK(growth < 5 * 1024 * 1024);
  }
}
