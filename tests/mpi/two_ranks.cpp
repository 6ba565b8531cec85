// The same code over two real processes, each with two devices of its own.
#include <cstddef>
#include <memory>
#include <numeric>

#include <loadax/loadax.hpp>

#include "conformance/communicator.hpp"
#include "mpi/mpi_communicator.hpp"
#include "support/catch.hpp"

namespace lx = loadax;
using loadax_test::MpiCommunicator;

namespace {

/// This process's side of a job whose nodes are the MPI ranks.
struct Job {
  std::shared_ptr<lx::Runtime> runtime = std::make_shared<lx::Runtime>(MpiCommunicator::world());
  lx::SimulatedTopology topology{{.nodes = runtime->process_count(),
                                  .devices_per_node = 2,
                                  .processes = lx::Processes::per_node,
                                  .process_index = runtime->process_index()}};
  lx::Mesh mesh =
      lx::make_fsdp_mesh_config(topology, {"data", "model"}).create_device_mesh(topology);
  lx::MeshScope scope{mesh, runtime};
};

}  // namespace

TEST_CASE("MPI is a communicator", "[mpi]") {
  auto world = MpiCommunicator::world();
  REQUIRE(world.size() == 2);
  loadax_test::check_communicator(world);
}

TEST_CASE("psum over both processes adds all devices", "[mpi]") {
  const Job job;
  auto step = lx::shard_map(job.mesh, {lx::P(lx::axes("data", "model"))}, lx::P(),
                            [](lx::DeviceContext& ctx, const lx::ConstView<double>& x) {
                              return ctx.psum(x.values()[0], lx::axes("data", "model"));
                            });
  lx::HostArray<double> mine(lx::Shape{2});
  const int first = 2 * job.runtime->process_index();
  mine.values()[0] = 1.0 + first;
  mine.values()[1] = 2.0 + first;
  CHECK(step(lx::host_to_global_device_array(mine)) == 10.0);
}

TEST_CASE("each process's rows become rows of one global array", "[mpi]") {
  const Job job;
  const int rank = job.runtime->process_index();
  lx::HostArray<float> mine(lx::Shape{4, 3});
  std::iota(mine.values().begin(), mine.values().end(), 100.0f * static_cast<float>(rank));

  const auto full = lx::host_to_global_device_array(mine);
  CHECK(full.shape() == lx::Shape{8, 3});
  REQUIRE(full.addressable_shards().size() == 2);
  for (std::size_t k = 0; k < 2; ++k) {
    const auto& shard = full.addressable_shards()[k];
    const std::size_t row = 4 * static_cast<std::size_t>(rank) + 2 * k;
    CHECK(shard.index == lx::Box{{row, row + 2}, {0, 3}});
    CHECK(shard.values()[0] == mine.values()[6 * k]);
  }

  const auto by_data = lx::host_to_global_device_array(mine, lx::P("data"));
  CHECK(by_data.shape() == lx::Shape{8, 3});
  CHECK(by_data.addressable_shards()[0].shape == lx::Shape{4, 3});
}
