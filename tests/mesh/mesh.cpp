#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include <loadax/core/random.hpp>
#include <loadax/device/simulated_topology.hpp>
#include <loadax/mesh/create_device_mesh.hpp>
#include <loadax/mesh/mesh.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/seed.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;
using Ids = std::vector<int>;

namespace {

lx::Mesh mesh_of(const std::vector<std::int64_t>& shape, lx::AxisNames<> names,
                 lx::Processes processes = lx::Processes::one, int process_index = 0) {
  std::int64_t count = 1;
  for (const auto size : shape) count *= size;
  const lx::SimulatedTopology topology{{.devices_per_node = static_cast<int>(count),
                                        .processes = processes,
                                        .process_index = process_index}};
  return {lx::create_device_mesh(shape, topology), std::move(names), process_index};
}

Ids ids(const lx::Mesh& mesh) {
  Ids result;
  for (const lx::Device& device : mesh.devices()) result.push_back(device.id);
  return result;
}

}  // namespace

TEST_CASE("a mesh tells its shape, names and sizes") {
  const auto mesh = mesh_of({4, 2}, {"data", "model"});
  CHECK(std::ranges::equal(mesh.shape(), std::vector{4, 2}));
  CHECK(mesh.rank() == 2);
  CHECK(mesh.size() == 8);
  CHECK(mesh.axis_names()[1] == "model");
  CHECK(mesh.axis("model") == 1);
  CHECK(mesh.axis_size("data") == 4);
  CHECK(mesh.stride(0) == 2);
  CHECK(to_string(mesh) == "(data=4, model=2)");
  CHECK(mesh.devices()[5].id == 5);
}

TEST_CASE("an unknown axis is an error that lists the known ones") {
  const auto mesh = mesh_of({4, 2}, {"data", "model"});
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)mesh.axis("modle"); }),
                 {"no mesh axis 'modle'", "hint: the axes are [data, model]"}));
}

TEST_CASE("a mesh needs one good name for each axis") {
  CHECK(contains(message_of<lx::ArgumentError>([] { mesh_of({4, 2}, {"data"}); }),
                 {"1 axis names [data] for mesh shape [4, 2]", "hint: "}));
  CHECK(contains(message_of<lx::ArgumentError>([] { mesh_of({4, 2}, {"data", "data"}); }),
                 {"'data' twice", "hint: "}));
  CHECK(contains(message_of<lx::ArgumentError>([] { mesh_of({4, 2}, {"", "data"}); }),
                 {"empty", "hint: "}));
}

TEST_CASE("positions and axes out of range are errors") {
  const auto mesh = mesh_of({4, 2}, {"x", "y"});
  CHECK(contains(message_of<lx::IndexError>([&] { (void)mesh.coordinate(8, 0); }),
                 {"mesh position 8 of 8", "hint: "}));
  CHECK(contains(message_of<lx::IndexError>([&] { (void)mesh.coordinate(0, 2); }),
                 {"mesh axis 2 of 2", "hint: "}));
}

TEST_CASE("a device of another mesh has no position") {
  const auto mesh = mesh_of({4, 2}, {"x", "y"});
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)mesh.position({.id = 9}); }),
                 {"device 9 is not in the mesh of 8 devices", "hint: "}));
  auto changed = mesh.devices()[3];
  changed.node_index = 7;
  CHECK_FALSE(mesh.contains(changed));
  CHECK(mesh.contains(mesh.devices()[3]));
}

TEST_CASE("positions and coordinates go back and forth") {
  const auto seed = loadax_test::seed();
  INFO("LOADAX_TEST_SEED=" << seed);
  lx::CounterRandom random{seed};
  for (int round = 0; round < 100; ++round) {
    std::vector<std::int64_t> shape(random.below(5));
    std::vector<std::string> names;
    std::int64_t count = 1;
    for (auto& size : shape) {
      count *= size = 1 + static_cast<std::int64_t>(random.below(4));
      names.push_back("axis" + std::to_string(names.size()));
    }
    std::vector<lx::Device> devices;
    for (int i = 0, id = 0; i < count; ++i, id += 1 + static_cast<int>(random.below(2)))
      devices.push_back({.id = id});
    for (std::size_t i = devices.size(); i > 1; --i)
      std::swap(devices[i - 1], devices[random.below(i)]);
    const lx::Mesh mesh{lx::DeviceGrid(shape, devices), names};

    for (std::size_t at = 0; at < mesh.size(); ++at) {
      REQUIRE(mesh.devices()[at] == devices[at]);
      REQUIRE(mesh.position(devices[at]) == at);
      const auto coordinates = mesh.coordinates(devices[at]);
      REQUIRE(coordinates.size() == shape.size());
      std::int64_t position = 0;
      for (std::size_t k = 0; k < shape.size(); ++k) {
        REQUIRE(coordinates[k] >= 0);
        REQUIRE(coordinates[k] < shape[k]);
        REQUIRE(coordinates[k] == mesh.coordinate(at, k));
        position = position * shape[k] + coordinates[k];
      }
      REQUIRE(position == static_cast<std::int64_t>(at));
    }
  }
}

TEST_CASE("a process's devices are those that it drives, in mesh order") {
  const lx::SimulatedTopology topology{{.nodes = 2,
                                        .devices_per_node = 4,
                                        .processes = lx::Processes::per_node,
                                        .process_index = 1}};
  const lx::Mesh mesh{lx::create_hybrid_device_mesh({{2, 2}, {1, 2}}, topology), {"x", "y"}, 1};
  CHECK(mesh.process_index() == 1);
  CHECK(std::ranges::equal(mesh.local_positions(), std::vector{2, 3, 6, 7}));
  const auto local = mesh.local_devices();
  REQUIRE(local.size() == 4);
  CHECK(local[2].id == 6);
}

TEST_CASE("meshes are equal by value and then have equal hashes") {
  const auto mesh = mesh_of({4, 2}, {"x", "y"});
  const lx::Mesh copy = mesh;  // NOLINT
  CHECK(copy == mesh);
  CHECK(mesh_of({4, 2}, {"x", "y"}) == mesh);
  CHECK(mesh_of({4, 2}, {"x", "y"}).hash() == mesh.hash());
  CHECK_FALSE(mesh_of({4, 2}, {"y", "x"}) == mesh);
  CHECK_FALSE(mesh_of({2, 4}, {"x", "y"}) == mesh);
  std::vector<lx::Device> other(mesh.devices().begin(), mesh.devices().end());
  std::swap(other[0], other[1]);
  CHECK_FALSE(lx::Mesh(lx::DeviceGrid({4, 2}, other), {"x", "y"}) == mesh);
  const std::unordered_set<lx::Mesh> set{mesh, copy, mesh_of({8}, {"x"})};
  CHECK(set.size() == 2);
}

TEST_CASE("a sub-mesh goes through a device along the axes that are asked for") {
  const auto mesh = mesh_of({2, 2, 4}, {"pp", "dp", "tp"});
  const lx::Device device = mesh.devices()[6];  // pp 0, dp 1, tp 2
  CHECK(ids(mesh.submesh({"tp"}, device)) == Ids{4, 5, 6, 7});
  CHECK(ids(mesh.submesh({"pp"}, device)) == Ids{6, 14});
  CHECK(ids(mesh.submesh({"tp", "dp"}, device)) == Ids{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(mesh.submesh({"pp", "dp", "tp"}, device) == mesh);
  CHECK(to_string(mesh.submesh({"tp", "dp"}, device)) == "(tp=4, dp=2)");
  CHECK(contains(message_of<lx::ArgumentError>([&] { mesh.submesh({"ep"}, device); }),
                 {"'ep'", "[pp, dp, tp]"}));
  CHECK(contains(message_of<lx::ArgumentError>([&] { mesh.submesh({"tp", "tp"}, device); }),
                 {"'tp' twice"}));
}

TEST_CASE("a process's sub-mesh is the one that holds its devices") {
  const auto mesh = mesh_of({2, 2, 4}, {"pp", "dp", "tp"}, lx::Processes::per_device, 9);
  CHECK(ids(mesh.submesh({"dp", "tp"})) == Ids{8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(ids(mesh.submesh({"dp"})) == Ids{9, 13});
  CHECK(mesh.submesh({"dp"}).process_index() == 9);
}

TEST_CASE("a process in several sub-meshes, or in none, must name a device") {
  const auto mesh = mesh_of({2, 4}, {"dp", "tp"});
  CHECK(contains(message_of<lx::ArgumentError>([&] { mesh.submesh({"tp"}); }),
                 {"devices 0 and 4 of process 0", "[tp]", "hint: "}));
  const lx::Mesh foreign{lx::DeviceGrid({2, 4}, mesh.local_devices()), {"dp", "tp"}, 3};
  CHECK(contains(message_of<lx::ArgumentError>([&] { foreign.submesh({"tp"}); }),
                 {"process 3", "no device", "hint: "}));
}

TEST_CASE("a mesh without axes is one device") {
  const auto mesh = mesh_of({}, lx::AxisNames<>(std::vector<std::string>{}));
  CHECK(mesh.size() == 1);
  CHECK(mesh.coordinates(mesh.devices()[0]).empty());
  CHECK(to_string(mesh) == "()");
}

TEST_CASE("a mesh of a million devices is made at once") {
  const lx::SimulatedTopology topology{{.nodes = 131072, .devices_per_node = 8}};
  const auto start = std::chrono::steady_clock::now();
  const lx::Mesh mesh{lx::create_hybrid_device_mesh({{1, 8}, {131072, 1}}, topology),
                      {"data", "model"}};
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  CHECK(mesh.size() == 1048576);
  CHECK(mesh.position(mesh.devices()[777777]) == 777777);
  // Far above what it takes even without optimisation and under sanitizers, far below JAX.
  CHECK(seconds.count() < 10);
  const lx::Mesh copy = mesh;
  CHECK(&copy.devices()[5] == &mesh.devices()[5]);
}

TEST_CASE("a mesh that was moved from is still there") {
  auto mesh = mesh_of({4, 2}, {"x", "y"});
  const lx::Mesh moved = std::move(mesh);
  CHECK(mesh == moved);
  auto other = mesh_of({8}, {"x"});
  other = std::move(mesh);
  CHECK(other == moved);
  CHECK(mesh.size() == 8);
}

TEST_CASE("a mesh needs devices and a process that looks at it") {
  const lx::SimulatedTopology topology{{.devices_per_node = 4}};
  auto grid = lx::create_device_mesh({4}, topology);
  CHECK(contains(message_of<lx::ArgumentError>([&] { lx::Mesh(grid, {"x"}, -1); }),
                 {"a mesh seen from process -1", "hint: "}));
  const lx::Mesh mesh{std::move(grid), {"x"}};
  CHECK_FALSE(grid.find(mesh.devices()[0]));
  CHECK(contains(message_of<lx::StateError>([&] { lx::Mesh(std::move(grid), {"x"}); }),
                 {"a moved-from DeviceGrid was used", "hint: "}));
}

TEST_CASE("a sub-mesh through a device of another mesh is an error") {
  const auto mesh = mesh_of({4, 2}, {"x", "y"});
  CHECK(contains(message_of<lx::ArgumentError>([&] { mesh.submesh({"x"}, {.id = 8}); }),
                 {"device 8 is not in the mesh of 8 devices", "hint: "}));
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)mesh.coordinates({.id = -1}); }),
                 {"device -1 is not in the mesh of 8 devices", "hint: "}));
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)mesh.axis_size(""); }),
                 {"no mesh axis ''", "hint: the axes are [x, y]"}));
  CHECK(contains(message_of<lx::IndexError>([&] { (void)mesh.stride(2); }),
                 {"mesh axis 2 of 2", "hint: "}));
}
