#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <loadax/core/log.hpp>
#include <loadax/device/simulated_topology.hpp>
#include <loadax/mesh/mesh_config.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;
using Ids = std::vector<int>;

namespace {

Ids ids(const lx::Mesh& mesh) {
  Ids result;
  for (const lx::Device& device : mesh.devices()) result.push_back(device.id);
  return result;
}

}  // namespace

TEST_CASE("a config makes a mesh of all devices, a -1 being inferred") {
  const lx::SimulatedTopology topology{{.devices_per_node = 8}};
  const auto config = lx::MeshConfig<2>{.mesh_shape = {4, -1},
                                        .mesh_axis_names = {"data", "model"},
                                        .batch_axis_names = {"data"},
                                        .mesh_rules = {}};
  const auto mesh = config.create_device_mesh(topology);
  CHECK(to_string(mesh) == "(data=4, model=2)");
  CHECK(ids(mesh) == Ids{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("the mesh keeps the process index of its topology") {
  const lx::SimulatedTopology topology{
      {.devices_per_node = 4, .processes = lx::Processes::per_device, .process_index = 2}};
  const auto mesh =
      lx::MeshConfig<1>{.mesh_shape = {4}, .mesh_axis_names = {"data"}}.create_device_mesh(
          topology);
  CHECK(mesh.process_index() == 2);
  CHECK(mesh.local_devices()[0].id == 2);
}

TEST_CASE("a plain shape on several nodes becomes a hybrid mesh") {
  const lx::SimulatedTopology topology{{.nodes = 2, .devices_per_node = 8}};
  auto with = [&](lx::MeshShape<3> shape) {
    return ids(lx::MeshConfig<3>{.mesh_shape = shape, .mesh_axis_names = {"a", "b", "c"}}
                   .create_device_mesh(topology));
  };
  const Ids in_order{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  CHECK(with({1, 2, 8}) == in_order);
  CHECK(with({2, 1, 8}) == in_order);
  CHECK(with({1, 16, 1}) == in_order);

  // The listed order of nodes does not matter, as it would for a flat mesh.
  std::vector<lx::Device> devices(topology.devices().begin(), topology.devices().end());
  std::rotate(devices.begin(), devices.begin() + 8, devices.end());
  const lx::MeshConfig<2> config{.mesh_shape = {2, 8}, .mesh_axis_names = {"a", "b"}};
  CHECK(ids(config.create_device_mesh(topology, devices)) == in_order);
}

TEST_CASE("a first axis that nodes do not divide is an error, or flat by choice") {
  const lx::SimulatedTopology topology{{.nodes = 2, .devices_per_node = 6}};
  const lx::MeshConfig<2> config{.mesh_shape = {3, 4}, .mesh_axis_names = {"a", "b"}};
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)config.create_device_mesh(topology); }),
                 {"[3, 4]", "axis 0 of size 3", "2 granules", "hint: "}));
  auto before = lx::set_log_sink([](lx::LogLevel, std::string_view) {});
  CHECK(ids(config.create_device_mesh(topology, {.on_indivisible = lx::OnIndivisible::flat})) ==
        Ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  lx::set_log_sink(before);
}

TEST_CASE("a config obeys its shape for a given list of devices too") {
  const lx::SimulatedTopology topology{{.nodes = 4, .devices_per_node = 4}};
  const lx::MeshConfig<2> config{.mesh_shape = {-1, 4}, .mesh_axis_names = {"data", "model"}};
  const auto half = topology.devices().subspan(8);
  const auto mesh = config.create_device_mesh(topology, half);
  CHECK(to_string(mesh) == "(data=2, model=4)");
  CHECK(mesh.devices()[0].id == 8);

  const lx::MeshConfig<1> all{.mesh_shape = {16}, .mesh_axis_names = {"data"}};
  CHECK(
      contains(message_of<lx::ArgumentError>([&] { (void)all.create_device_mesh(topology, half); }),
               {"[16]", "16 devices", "not for 8", "hint: "}));
}

TEST_CASE("granules are the different nodes among the devices given, not the largest number") {
  const lx::SimulatedTopology topology{{.nodes = 4, .devices_per_node = 2}};
  std::vector<lx::Device> some;
  for (const lx::Device& device : topology.devices())
    if (device.node_index % 2 == 1) some.push_back(device);
  const lx::MeshConfig<2> config{.mesh_shape = lx::HybridMeshShape{{1, -1}, {-1, 1}},
                                 .mesh_axis_names = {"data", "model"}};
  const auto mesh = config.create_device_mesh(topology, some);
  CHECK(to_string(mesh) == "(data=2, model=2)");
  CHECK(ids(mesh) == Ids{2, 3, 6, 7});
}

TEST_CASE("devices that the topology does not have, or none, are errors") {
  const lx::SimulatedTopology topology{{.devices_per_node = 4}};
  const lx::MeshConfig<1> config{.mesh_shape = {-1}, .mesh_axis_names = {"data"}};
  const std::vector<lx::Device> foreign{{.id = 17}};
  CHECK(contains(
      message_of<lx::ArgumentError>([&] { (void)config.create_device_mesh(topology, foreign); }),
      {"device 17 is not one of the topology's 4 devices", "hint: "}));
  CHECK(contains(message_of<lx::ArgumentError>([&] {
                   (void)config.create_device_mesh(topology, std::span<const lx::Device>{});
                 }),
                 {"mesh shape [-1] for 0 devices", "hint: "}));
}

TEST_CASE("a config used with another topology is checked, and the error names both counts") {
  const lx::MeshConfig<2> config{.mesh_shape = lx::HybridMeshShape{{1, 8}, {4, 1}},
                                 .mesh_axis_names = {"data", "model"}};
  const lx::SimulatedTopology two{{.nodes = 2, .devices_per_node = 8}};
  const lx::SimulatedTopology small{{.nodes = 4, .devices_per_node = 4}};
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)config.create_device_mesh(two); }),
                 {"4 nodes of 8 devices", "16 devices are on 2 nodes", "hint: "}));
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)config.create_device_mesh(small); }),
                 {"4 nodes of 8 devices", "node 0 has 4", "hint: "}));
}

TEST_CASE("batch axes must be mesh axes, each once") {
  const lx::SimulatedTopology topology{{.devices_per_node = 8}};
  auto text_for = [&](std::vector<std::string> batch) {
    const lx::MeshConfig<2> config{
        .mesh_shape = {4, 2}, .mesh_axis_names = {"data", "model"}, .batch_axis_names = batch};
    return message_of<lx::ArgumentError>([&] { (void)config.create_device_mesh(topology); });
  };
  CHECK(contains(text_for({"batch"}),
                 {"batch axis 'batch' is no mesh axis", "hint: the mesh axes are [data, model]"}));
  CHECK(
      contains(text_for({"data", "data"}), {"batch axis 'data' twice in [data, data]", "hint: "}));
}

TEST_CASE("a shape and names of dynamic rank are compared when they are used") {
  const lx::SimulatedTopology topology{{.devices_per_node = 8}};
  const lx::MeshConfig<> good{.mesh_shape = {4, 2}, .mesh_axis_names = {"data", "model"}};
  CHECK(to_string(good.create_device_mesh(topology)) == "(data=4, model=2)");
  const lx::MeshConfig<> bad{.mesh_shape = {4, 2}, .mesh_axis_names = {"data"}};
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)bad.create_device_mesh(topology); }),
                 {"1 axis names [data]", "[4, 2]", "hint: "}));
  const lx::MeshConfig<> rule{
      .mesh_shape = {8}, .mesh_axis_names = {"data"}, .mesh_rules = {{"h100", {4, 2}}}};
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)rule.for_selector("h100"); }),
                 {"1 axis names [data]", "[4, 2]", "hint: "}));
}

TEST_CASE("a selector chooses the shape of the first rule that matches, else the default") {
  const lx::MeshConfig<2> config{.mesh_shape = {8, 1},
                                 .mesh_axis_names = {"data", "model"},
                                 .mesh_rules = {{"h100.*", {4, 2}}, {"h.*", {2, 4}}}};
  CHECK(config.for_selector("h100-8").mesh_shape == lx::AnyMeshShape<2>{4, 2});
  CHECK(config.for_selector("h200").mesh_shape == lx::AnyMeshShape<2>{2, 4});
  CHECK(config.for_selector("tpu").mesh_shape == lx::AnyMeshShape<2>{8, 1});
  // A selector is not remembered: another one starts anew.
  CHECK(config.for_selector("h100").for_selector("tpu").mesh_shape == lx::AnyMeshShape<2>{8, 1});
  CHECK(config.mesh_shape == lx::AnyMeshShape<2>{8, 1});
}
