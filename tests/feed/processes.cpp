// What the processes of one job load: the same number of batches, and each sample once.
#include <atomic>
#include <cstddef>
#include <vector>

#include <loadax/data/map.hpp>
#include <loadax/data/simple_dataset.hpp>
#include <loadax/device/simulated_topology.hpp>
#include <loadax/feed/sharded_dataloader.hpp>
#include <loadax/mesh/create_device_mesh.hpp>

#include "support/catch.hpp"
#include "support/loading.hpp"
#include "support/meshes.hpp"
#include "support/quiet.hpp"

namespace lx = loadax;
using loadax_test::numbers;
using loadax_test::worker_counts;

namespace {

/// Four devices, of which each process has as many.
lx::Mesh mesh_of_process(int me, int processes) {
  const lx::SimulatedTopology topology{{.nodes = processes,
                                        .devices_per_node = 4 / processes,
                                        .processes = lx::Processes::per_node,
                                        .process_index = me}};
  return {lx::create_device_mesh(lx::MeshShape{4}, topology), {"data"}, me};
}

}  // namespace

TEST_CASE("for all small sizes, processes get equally many batches, and each sample is in one",
          "[feed]") {
  const loadax_test::QuietLog quiet;
  for (const int processes : {1, 2, 4})
    for (std::size_t n = 0; n <= 17; ++n)
      for (const std::size_t size : {4u, 8u, 20u})
        for (const auto tail : {lx::Tail::drop, lx::Tail::pad}) {
          INFO("processes " << processes << " n " << n << " batch " << size << " pad "
                            << (tail == lx::Tail::pad));
          const std::size_t expected = tail == lx::Tail::drop ? n / size : (n + size - 1) / size;
          std::vector<int> seen(n, 0);
          std::size_t valid = 0;
          for (int me = 0; me < processes; ++me) {
            lx::MeshScope scope{mesh_of_process(me, processes)};
            lx::ShardedDataloader loader{
                numbers(n).shuffle(3), lx::P("data"), {.global_batch_size = size, .tail = tail}};
            std::size_t batches = 0;
            for (auto epoch : loader.epochs())
              for (const auto& batch : epoch) {
                ++batches;
                for (std::size_t k = 0; k < batch.get<0>().addressable_shards().size(); ++k) {
                  const auto values = batch.get<0>().addressable_shards()[k].values();
                  for (std::size_t i = 0; i < values.size(); ++i) {
                    if (batch.has_mask() && !batch.mask().addressable_shards()[k].values()[i])
                      continue;
                    ++valid;
                    ++seen.at(static_cast<std::size_t>(values[i]));
                  }
                }
              }
            REQUIRE(batches == expected);
          }
          REQUIRE(valid == (tail == lx::Tail::pad ? n : expected * size));
          for (const int times : seen) REQUIRE(times <= 1);
        }
}

TEST_CASE("the samples that Tail::drop drops are not loaded", "[feed]") {
  lx::MeshScope scope{loadax_test::mesh_of({2}, {"data"})};
  for (const std::size_t workers : worker_counts) {
    std::atomic<int> loads{0}, dropped{0};
    lx::ShardedDataloader loader{numbers(23).map([&](int i) {
                                   ++loads;
                                   dropped += i >= 20;
                                   return i;
                                 }),
                                 lx::P("data"),
                                 {.global_batch_size = 4, .epochs = 3, .num_workers = workers}};
    std::size_t batches = 0;
    for (auto epoch : loader.epochs())
      for ([[maybe_unused]] const auto& batch : epoch) ++batches;
    CHECK(batches == 15);
    CHECK(loads == 60);
    CHECK(dropped == 0);
  }
}
