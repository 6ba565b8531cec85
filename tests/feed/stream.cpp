// A stream over epochs: its ends, leaving an epoch early, and datasets that change with the epoch.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <loadax/core/log.hpp>
#include <loadax/data/map.hpp>
#include <loadax/data/simple_dataset.hpp>
#include <loadax/device/simulated_topology.hpp>
#include <loadax/feed/sharded_dataloader.hpp>
#include <loadax/mesh/create_device_mesh.hpp>
#include <loadax/placement/global_to_host_array.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/loading.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;
using loadax_test::numbers;
using loadax_test::worker_counts;

namespace {

lx::Mesh two_devices() {
  const lx::SimulatedTopology topology{{.nodes = 1, .devices_per_node = 2}};
  return {lx::create_device_mesh(lx::MeshShape{2}, topology), {"data"}};
}

std::int32_t first_of(const auto& batch) {
  return lx::global_to_host_array(batch.template get<0>()).values()[0];
}

/// In epoch e, `size + e * growth` samples of value e. Counts its views.
struct Growing {
  std::size_t samples, growth;
  std::atomic<int>* views;
  std::int32_t epoch = 0;
  std::size_t size() const { return samples + growth * static_cast<std::size_t>(epoch); }
  std::int32_t operator[](std::size_t i) const { return i < size() ? epoch : -1; }
  Growing for_epoch(std::uint64_t e) const {
    ++*views;
    Growing view = *this;
    view.epoch = static_cast<std::int32_t>(e);
    return view;
  }
};

}  // namespace

TEST_CASE("leaving an epoch early does not load the rest of it", "[feed]") {
  lx::MeshScope scope{two_devices()};
  for (const std::size_t workers : worker_counts) {
    INFO("workers " << workers);
    std::atomic<std::size_t> loads{0};
    const auto counted = numbers(8000).map([&](std::int32_t v) {
      ++loads;
      return v;
    });
    lx::ShardedDataloader loader{
        counted, lx::P("data"), {.global_batch_size = 4, .epochs = 5, .num_workers = workers}};
    std::vector<std::int32_t> firsts;
    for (auto epoch : loader.epochs()) {
      std::size_t used = 0;
      for (const auto& batch : epoch) {
        firsts.push_back(first_of(batch));
        if (++used == 2) break;
      }
    }
    CHECK(firsts == std::vector<std::int32_t>{0, 4, 0, 4, 0, 4, 0, 4, 0, 4});
    const std::size_t loaded_ahead = 2 * workers;
    CHECK(loads <= 5 * (2 + loaded_ahead) * 4);
  }
}

TEST_CASE("epochs may be skipped whole, and to the end of the stream", "[feed]") {
  lx::MeshScope scope{two_devices()};
  for (const std::size_t workers : worker_counts) {
    lx::ShardedDataloader loader{numbers(12).shuffle(5),
                                 lx::P("data"),
                                 {.global_batch_size = 4, .epochs = 4, .num_workers = workers}};
    lx::ShardedDataloader whole{
        numbers(12).shuffle(5), lx::P("data"), {.global_batch_size = 4, .epochs = 4}};
    std::vector<std::int32_t> expected, firsts;
    for (auto epoch : whole.epochs())
      for (const auto& batch : epoch)
        if (epoch.index() == 2) expected.push_back(first_of(batch));
    for (auto epoch : loader.epochs())
      if (epoch.index() == 2)
        for (const auto& batch : epoch) firsts.push_back(first_of(batch));
    CHECK(firsts == expected);
    CHECK(loader.epochs().begin() == loader.epochs().end());
  }
}

TEST_CASE("an iterator at the end of its epoch gives no batch of the next one", "[feed]") {
  lx::MeshScope scope{two_devices()};
  for (const std::size_t workers : {0, 2}) {
    lx::ShardedDataloader loader{
        numbers(8), lx::P("data"), {.global_batch_size = 4, .epochs = 2, .num_workers = workers}};
    for (auto epoch : loader.epochs()) {
      auto it = epoch.begin();
      while (it != epoch.end()) ++it;
      const auto text = epoch.index() == 0 ? "epoch 0 has no batch left" : "epoch 1 has no batch";
      CHECK(contains(message_of<lx::StateError>([&] { (void)*it; }), {text, "end()", "hint:"}));
      CHECK(contains(message_of<lx::StateError>([&] { ++it; }), {text, "end()", "hint:"}));
    }
  }
  const auto before = lx::set_log_sink([](lx::LogLevel, std::string_view) {});
  lx::ShardedDataloader none{numbers(3), lx::P("data"), {.global_batch_size = 4}};
  const auto epoch = *none.epochs().begin();
  CHECK_THROWS_AS(*epoch.begin(), lx::StateError);
  CHECK_THROWS_AS(++epoch.begin(), lx::StateError);
  lx::set_log_sink(before);
}

TEST_CASE("a stream of no epochs has no batches", "[feed]") {
  lx::MeshScope scope{two_devices()};
  lx::ShardedDataloader loader{numbers(8), lx::P("data"), {.global_batch_size = 4, .epochs = 0}};
  CHECK(loader.epochs().begin() == loader.epochs().end());
}

TEST_CASE("a dataset whose size changes with the epoch is an error of that epoch", "[feed]") {
  lx::MeshScope scope{two_devices()};
  const auto before = lx::set_log_sink([](lx::LogLevel, std::string_view) {});
  for (const std::size_t workers : worker_counts) {
    std::atomic<int> views{0};
    lx::ShardedDataloader loader{
        Growing{9, std::size_t(-2), &views},
        lx::P("data"),
        {.global_batch_size = 4, .epochs = 2, .num_workers = workers, .tail = lx::Tail::pad}};
    std::size_t delivered = 0, refused = 0;
    for (auto epoch : loader.epochs())
      for (auto it = epoch.begin(); it != epoch.end(); ++it) {
        if (epoch.index() == 0) {
          delivered += first_of(*it) == 0;
        } else {
          CHECK(contains(message_of<lx::ArgumentError>([&] { (void)*it; }),
                         {"7 samples in epoch 1", "said 9", "hint:"}));
          CHECK(it.failure()->stage == lx::LoadStage::open);
          ++refused;
        }
      }
    CHECK(delivered == 3);
    CHECK(refused == 3);
  }
  lx::set_log_sink(before);
}

TEST_CASE("the view of an epoch is made once, however many epochs are loaded at a time", "[feed]") {
  lx::MeshScope scope{two_devices()};
  for (const std::size_t workers : worker_counts) {
    std::atomic<int> views{0};
    lx::ShardedDataloader loader{
        Growing{8, 0, &views},
        lx::P("data"),
        {.global_batch_size = 8, .epochs = 300, .num_workers = workers, .prefetch_factor = 3}};
    std::int32_t next = 0;
    for (auto epoch : loader.epochs())
      for (const auto& batch : epoch) CHECK(first_of(batch) == next++);
    CHECK(next == 300);
    CHECK(views == 300);
  }
}
