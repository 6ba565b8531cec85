// Steps whose devices are in several processes, played by threads.
#include "support/processes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <loadax/placement/global_to_host_array.hpp>
#include <loadax/placement/host_to_global_device_array.hpp>
#include <loadax/spmd/shard_map.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/meshes.hpp"
#include "support/require.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::counting;
using loadax_test::message_of;
using loadax_test::require;
using loadax_test::run_processes;

namespace {

/// A mesh of `processes` with `devices` each, as process `me` sees it.
lx::Mesh mesh_of(int processes, int devices, lx::MeshShape<> shape, lx::AxisNames<> names, int me) {
  const lx::SimulatedTopology topology{{.nodes = processes,
                                        .devices_per_node = devices,
                                        .processes = lx::Processes::per_node,
                                        .process_index = me}};
  return {lx::create_device_mesh(shape, topology), std::move(names), me};
}

/// Every collective, and sums that depend on their order, over different axes.
std::vector<double> program(const lx::Mesh& mesh, const std::shared_ptr<lx::Runtime>& runtime) {
  lx::MeshScope scope{mesh, runtime};
  std::vector<double> results(mesh.size());
  lx::shard_map(mesh, std::tuple<>(), lx::P(), [&](lx::DeviceContext& ctx) {
    const auto id = static_cast<std::size_t>(ctx.device().id);
    const lx::HostArray<double> x({4}, {0.1 * static_cast<double>(id), 1e16, 1.0 / 3, -1e16});
    const lx::ConstView<double> v(x);
    const auto all = ctx.all_gather(v, "a", {.axis = 0, .tiled = true});
    const auto sum = ctx.psum(all, lx::axes("b", "a"));
    const auto part = ctx.psum_scatter(sum, "b", {.scatter_dimension = 0, .tiled = true});
    const auto exchanged = ctx.all_to_all(all, "b", {.tiled = true});
    const auto everyone = lx::axes("b", "a");
    std::vector<lx::PermutePairs::Pair> ring;
    for (std::int64_t d = 1; d < ctx.axis_size(everyone); ++d) ring.push_back({d - 1, d});
    const auto shifted = ctx.ppermute(v, everyone, ring);
    const auto sent = ctx.pbroadcast(exchanged, "a", 1);
    double total = 0;
    for (const auto& view : {part, exchanged, shifted, sent})
      for (std::size_t i = 0; i < view.size(); ++i)
        total += view.values()[i] * static_cast<double>(i + 1);
    results[id] = ctx.psum(total, "a") + total + ctx.pmax(total, everyone) - ctx.pmin(total, "b");
  })();
  return results;
}

}  // namespace

TEST_CASE("a step gives the same bits on one process and on several", "[spmd]") {
  const std::vector<lx::MeshShape<>> shapes{{4, 2}, {2, 4}, {8, 1}};
  for (const auto& shape : shapes) {
    const auto alone =
        program(loadax_test::mesh_of(shape, {"a", "b"}), std::make_shared<lx::Runtime>());
    for (const int processes : {2, 4})
      run_processes(processes, [&](int me, const std::shared_ptr<lx::Runtime>& runtime) {
        const auto mesh = mesh_of(processes, 8 / processes, shape, {"a", "b"}, me);
        const auto mine = program(mesh, runtime);
        for (const auto& device : mesh.local_devices()) {
          const auto id = static_cast<std::size_t>(device.id);
          require(mine[id] == alone[id], "device " + std::to_string(id) + " has the same bits");
        }
      });
  }
}

TEST_CASE("each process places its rows, and a step over all of them sums them", "[spmd]") {
  run_processes(2, [](int me, const std::shared_ptr<lx::Runtime>& runtime) {
    const auto mesh = mesh_of(2, 2, {4}, {"data"}, me);
    lx::MeshScope scope{mesh, runtime};
    lx::HostArray<float> rows({4}, std::vector<float>(4, static_cast<float>(me + 1)));
    const auto array = lx::host_to_global_device_array(rows);
    require(array.shape() == lx::Shape{8}, "global shape");
    const auto step = lx::shard_map(mesh, lx::P("data"), lx::P(),
                                    [](lx::DeviceContext& ctx, lx::ConstView<float> v) {
                                      return ctx.psum(v.values()[0] + v.values()[1], "data");
                                    });
    require(step(array) == 12, "4 rows of 1 and 4 of 2");
    require(lx::global_to_host_array(array) == rows, "round trip");
  });
}

TEST_CASE("a device that throws ends the job with its own exception", "[spmd]") {
  CHECK_THROWS_AS(run_processes(3,
                                [](int me, const std::shared_ptr<lx::Runtime>& runtime) {
                                  const auto mesh = mesh_of(3, 2, {6}, {"data"}, me);
                                  lx::MeshScope scope{mesh, runtime};
                                  lx::shard_map(mesh, std::tuple<>(), lx::P(),
                                                [](lx::DeviceContext& ctx) {
                                                  if (ctx.device().id == 4)
                                                    throw std::domain_error("device 4");
                                                  return ctx.psum(1, "data");
                                                })();
                                }),
                  std::domain_error);
}

TEST_CASE("contributions of different size in different processes are an error", "[spmd]") {
  CHECK(contains(message_of<lx::ArgumentError>([] {
                   run_processes(2, [](int me, const std::shared_ptr<lx::Runtime>& runtime) {
                     const auto mesh = mesh_of(2, 1, {2}, {"data"}, me);
                     lx::MeshScope scope{mesh, runtime};
                     lx::shard_map(mesh, std::tuple<>(), lx::P(), [me](lx::DeviceContext& ctx) {
                       const lx::HostArray<float> x({static_cast<std::size_t>(me) + 1});
                       ctx.psum(lx::ConstView<float>(x), "data");
                     })();
                   });
                 }),
                 {"exchange", "4", "8", "hint:"}));
}

TEST_CASE("different collectives in different processes are an error", "[spmd]") {
  const auto failing = [](auto code) {
    return message_of<lx::ArgumentError>([&] {
      run_processes(2, [&](int me, const std::shared_ptr<lx::Runtime>& runtime) {
        const auto mesh = mesh_of(2, 2, {2, 2}, {"p", "d"}, me);
        lx::MeshScope scope{mesh, runtime};
        lx::shard_map(mesh, std::tuple<>(), lx::P(),
                      [&](lx::DeviceContext& ctx) { code(ctx, me); })();
      });
    });
  };
  CHECK(contains(failing([](lx::DeviceContext& ctx, int me) {
                   if (me == 0)
                     ctx.psum(1.0f, "p");
                   else
                     ctx.psum(1, "p");
                 }),
                 {"psum", "another collective", "hint:"}));
  CHECK(contains(failing([](lx::DeviceContext& ctx, int me) {
                   const lx::HostArray<float> x({4});
                   if (me == 0)
                     ctx.psum(lx::View(x), "p");
                   else
                     ctx.all_gather(lx::View(x), "p");
                 }),
                 {"another collective", "hint:"}));
  CHECK(contains(failing([](lx::DeviceContext& ctx, int) {
                   if (ctx.axis_index("d") == 0)
                     ctx.psum(1, "p");
                   else
                     ctx.psum(1, lx::axes("p", "d"));
                 }),
                 {"different axes", "hint:"}));
}

TEST_CASE("a runtime of one process refuses steps over a mesh of two", "[spmd]") {
  const auto mesh = mesh_of(2, 2, {4}, {"data"}, 1);
  CHECK(contains(message_of<lx::StateError>([&] {
                   lx::shard_map(mesh, std::tuple<>(), lx::P(), [](lx::DeviceContext&) {});
                 }),
                 {"spans 2 processes", "hint:"}));
}
