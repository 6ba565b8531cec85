#include <cstddef>
#include <string>
#include <vector>

#include <loadax/device/simulated_topology.hpp>
#include <loadax/mesh/create_device_mesh.hpp>
#include <loadax/placement/global_to_host_array.hpp>
#include <loadax/placement/host_to_global_device_array.hpp>
#include <loadax/sharding/process_local.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

namespace {

/// A mesh whose device k belongs to process `owners[k]`, as process `me` sees it.
lx::Mesh mesh_of(lx::MeshShape<> shape, lx::AxisNames<> names, const std::vector<int>& owners,
                 int me) {
  std::vector<lx::Device> devices;
  for (std::size_t k = 0; k < owners.size(); ++k)
    devices.push_back({.id = static_cast<int>(k),
                       .process_index = owners[k],
                       .node_index = owners[k],
                       .local_id = static_cast<int>(k)});
  return {lx::create_device_mesh(shape, devices), std::move(names), me};
}

/// A (2, 2, 2) mesh over axes a, b, c of four processes with two devices each.
lx::Mesh cube(int me) { return mesh_of({2, 2, 2}, {"a", "b", "c"}, {0, 0, 1, 1, 2, 2, 3, 3}, me); }
/// A (2, 4) mesh over data, model; each row is a process.
lx::Mesh rows(int me) { return mesh_of({2, 4}, {"data", "model"}, {0, 0, 0, 0, 1, 1, 1, 1}, me); }

lx::Shape global(const lx::Mesh& mesh, const lx::P& spec, const lx::Shape& local) {
  return lx::layout_from_local(lx::NamedSharding(mesh, spec), local).global_shape;
}

}  // namespace

// The shapes of this case were computed with jax.make_array_from_process_local_data.
TEST_CASE("the global shape follows from one process's data as in JAX", "[placement]") {
  for (int me = 0; me < 4; ++me) {
    CHECK(global(cube(me), lx::P(lx::axes("a", "b"), "c"), {4, 4}) == lx::Shape{16, 4});
    CHECK(global(cube(me), lx::P(lx::axes("a", "c"), "b"), {4, 4}) == lx::Shape{8, 8});
    CHECK(global(cube(me), lx::P(lx::none, lx::axes("a", "c")), {4, 4}) == lx::Shape{4, 8});
  }
  for (int me = 0; me < 2; ++me) {
    CHECK(global(rows(me), lx::P("data"), {16, 4}) == lx::Shape{32, 4});
    CHECK(global(rows(me), lx::P("model"), {16, 4}) == lx::Shape{16, 4});
    CHECK(global(rows(me), lx::P(lx::axes("model", "data")), {16, 4}) == lx::Shape{32, 4});
  }
}

TEST_CASE("a process's block k becomes global block 2k + p where data is the minor axis",
          "[placement]") {
  for (int me = 0; me < 2; ++me) {
    const lx::NamedSharding sharding(rows(me), lx::P(lx::axes("model", "data")));
    const auto layout = lx::layout_from_local(sharding, {16, 4});
    for (std::size_t k = 0; k < 4; ++k) {
      CHECK(layout.boxes[k][0] == lx::Slice{4 * k, 4 * k + 4});
      const std::size_t block = 2 * k + static_cast<std::size_t>(me);
      CHECK(sharding.index_at(sharding.mesh().local_positions()[k], layout.global_shape)[0] ==
            lx::Slice{4 * block, 4 * block + 4});
    }
  }
}

TEST_CASE("processes with unequal parts leave the global shape undetermined", "[placement]") {
  const auto mesh = mesh_of({2, 2}, {"x", "y"}, {0, 0, 0, 1}, 0);
  CHECK(contains(message_of<lx::ArgumentError>([&] { global(mesh, lx::P("y", "x"), {4, 4}); }),
                 {"dimension 0", "process 0", "process 1", "hint:"}));
  CHECK(contains(message_of<lx::ArgumentError>([&] { global(mesh, lx::P("x"), {4, 4}); }),
                 {"dimension 0", "does not follow"}));
}

TEST_CASE("FULL needs no equal processes: rows are shared out by devices", "[placement]") {
  const auto mesh = [](int me) { return mesh_of({4}, {"data"}, {0, 0, 0, 1}, me); };
  CHECK(global(mesh(0), lx::every_device(mesh(0)), {6, 2}) == lx::Shape{8, 2});
  CHECK(global(mesh(1), lx::every_device(mesh(1)), {2, 2}) == lx::Shape{8, 2});
}

TEST_CASE("each process places its own rows, and gets them back", "[placement]") {
  // Devices of the processes alternate in the mesh.
  for (int me = 0; me < 2; ++me) {
    lx::MeshScope scope{mesh_of({4}, {"data"}, {0, 1, 0, 1}, me)};
    lx::HostArray<int> host({4, 1}, {10, 11, 12, 13});
    const auto array = lx::host_to_global_device_array(host);
    CHECK(array.shape() == lx::Shape{8, 1});
    REQUIRE(array.addressable_shards().size() == 2);
    const auto p = static_cast<std::size_t>(me);
    CHECK(array.addressable_shards()[0].index[0] == lx::Slice{2 * p, 2 * p + 2});
    CHECK(array.addressable_shards()[1].index[0] == lx::Slice{4 + 2 * p, 6 + 2 * p});
    CHECK(array.addressable_shards()[1].values()[0] == 12);
    CHECK(lx::global_to_host_array(array) == host);
  }
}

TEST_CASE("a process whose blocks fill no box is told so", "[placement]") {
  const auto mesh = mesh_of({2, 2}, {"x", "y"}, {0, 1, 1, 0}, 0);
  CHECK(contains(message_of<lx::NotSupportedError>([&] { global(mesh, lx::P("x", "y"), {2, 2}); }),
                 {"process 0", "2 blocks", "box", "4 would", "hint:"}));
}

TEST_CASE("a process without a device in the mesh is told so", "[placement]") {
  CHECK(contains(message_of<lx::StateError>([] { global(cube(9), lx::P("a"), {4}); }),
                 {"process 9 has no device in the mesh", "hint:"}));
}

TEST_CASE("a global size beyond 64 bits is an error", "[placement]") {
  const std::size_t big = std::size_t{1} << 63;
  CHECK(contains(message_of<lx::ArgumentError>([&] { global(rows(0), lx::P("data"), {big}); }),
                 {"dimension 0", "2 blocks", "2^64"}));
}

TEST_CASE("a local array of too few dimensions is named as it was given", "[placement]") {
  CHECK(
      contains(message_of<lx::ArgumentError>([] { global(rows(0), lx::P("data", "model"), {8}); }),
               {"P(data, model) has 2 entries, the array [8] has 1 dimensions", "hint:"}));
  CHECK(contains(message_of<lx::ArgumentError>(
                     [] { lx::layout_from_global(lx::NamedSharding(rows(0), lx::P("data")), {}); }),
                 {"P(data) has 1 entries, the array [] has 0 dimensions", "hint:"}));
}
