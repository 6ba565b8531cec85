#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <loadax/device/simulated_topology.hpp>
#include <loadax/parallel/ddp.hpp>
#include <loadax/parallel/fsdp.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

namespace {

const lx::SimulatedTopology one_node{{.nodes = 1, .devices_per_node = 8}};
const lx::SimulatedTopology four_nodes{{.nodes = 4, .devices_per_node = 8}};

struct Unequal {
  int process_index() const { return 0; }
  int process_count() const { return 1; }
  std::vector<lx::Device> devices() const {
    return {{.id = 0}, {.id = 1}, {.id = 2, .node_index = 1}};
  }
};

struct Nothing {
  int process_index() const { return 0; }
  int process_count() const { return 1; }
  std::vector<lx::Device> devices() const { return {}; }
};

}  // namespace

TEST_CASE("the FSDP mesh has a node's devices on its last axis and the nodes on its first") {
  const auto config = lx::make_fsdp_mesh_config(one_node, {"data", "model"});
  static_assert(std::is_same_v<decltype(config), const lx::MeshConfig<2>>);
  CHECK(config.mesh_shape == lx::AnyMeshShape<2>(lx::HybridMeshShape{{1, 8}, {1, 1}}));
  CHECK(to_string(config.create_device_mesh(one_node)) == "(data=1, model=8)");

  const auto wide = lx::make_fsdp_mesh_config(four_nodes, {"data", "model"});
  CHECK(wide.mesh_shape == lx::AnyMeshShape<2>(lx::HybridMeshShape{{1, 8}, {4, 1}}));
  CHECK(to_string(wide.create_device_mesh(four_nodes)) == "(data=4, model=8)");

  const auto three = lx::make_fsdp_mesh_config(four_nodes, {"data", "seq", "model"});
  CHECK(three.mesh_shape == lx::AnyMeshShape<3>(lx::HybridMeshShape{{1, 1, 8}, {4, 1, 1}}));

  const auto single = lx::make_fsdp_mesh_config(four_nodes, {"data"});
  CHECK(single.mesh_shape == lx::AnyMeshShape<1>(lx::HybridMeshShape<1>{{8}, {4}}));
  CHECK(to_string(single.create_device_mesh(four_nodes)) == "(data=32)");
}

TEST_CASE("the DDP mesh has everything on the first batch axis") {
  const auto config = lx::make_ddp_mesh_config(four_nodes);
  static_assert(std::is_same_v<decltype(config), const lx::MeshConfig<1>>);
  CHECK(config.mesh_shape == lx::AnyMeshShape<1>(lx::HybridMeshShape<1>{{8}, {4}}));
  CHECK(to_string(config.create_device_mesh(four_nodes)) == "(data=32)");

  const auto two = lx::make_ddp_mesh_config(four_nodes, {"model", "data"});
  CHECK(two.mesh_shape == lx::AnyMeshShape<2>(lx::HybridMeshShape{{1, 8}, {1, 4}}));
  CHECK(to_string(two.create_device_mesh(four_nodes)) == "(model=1, data=32)");

  const auto chosen =
      lx::make_ddp_mesh_config(four_nodes, {"a", "b", "c"}, {.batch_axis_names = {"b", "a"}});
  CHECK(to_string(chosen.create_device_mesh(four_nodes)) == "(a=1, b=32, c=1)");
}

TEST_CASE("axis names may be known at compile time or at run time") {
  const std::array<std::string, 2> fixed{"data", "model"};
  const auto from_array = lx::make_fsdp_mesh_config(one_node, fixed);
  static_assert(std::is_same_v<decltype(from_array), const lx::MeshConfig<2>>);
  const std::string data = "data";
  const auto from_mixed = lx::make_fsdp_mesh_config(one_node, {data, "model"});
  CHECK(from_mixed.mesh_axis_names == from_array.mesh_axis_names);

  const std::vector<std::string> names{"data", "model"};
  const auto dynamic = lx::make_fsdp_mesh_config(
      one_node, names, {.mesh_rules = {{"h100", {4, 2}}}, .mesh_selector = "h100"});
  static_assert(std::is_same_v<decltype(dynamic), const lx::MeshConfig<>>);
  CHECK(to_string(dynamic.create_device_mesh(one_node)) == "(data=4, model=2)");
  CHECK(to_string(lx::make_ddp_mesh_config(one_node, names).create_device_mesh(one_node)) ==
        "(data=8, model=1)");
  CHECK(contains(message_of<lx::ArgumentError>(
                     [] { lx::make_fsdp_mesh_config(one_node, std::vector<std::string>{}); }),
                 {"without axes", "hint: "}));
  CHECK(contains(message_of<lx::ArgumentError>(
                     [] { lx::make_ddp_mesh_config(one_node, std::vector<std::string>{}); }),
                 {"without axes", "hint: "}));
}

TEST_CASE("the batch goes over data where there is such an axis, else over the first") {
  CHECK(lx::make_fsdp_mesh_config(one_node, {"model", "data"}).batch_spec() == lx::P("data"));
  CHECK(lx::make_fsdp_mesh_config(one_node, {"x", "y"}).batch_spec() == lx::P("x"));
  CHECK(lx::make_fsdp_mesh_config(one_node, {"data", "model"},
                                  {.batch_axis_names = {"data", "model"}})
            .batch_spec() == lx::P(lx::axes("data", "model")));
  const lx::MeshConfig<2> by_hand{.mesh_shape = {4, 2}, .mesh_axis_names = {"data", "model"}};
  CHECK(by_hand.batch_spec() == lx::P("data"));
  const lx::MeshConfig<2> wrong{
      .mesh_shape = {4, 2}, .mesh_axis_names = {"data", "model"}, .batch_axis_names = {"batch"}};
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)wrong.batch_spec(); }),
                 {"'batch'", "[data, model]", "hint: "}));
}

TEST_CASE("rules apply with a selector only") {
  const lx::HybridMeshShape<2> hybrid{.ici_mesh_shape = {1, 8}, .dcn_mesh_shape = {4, 1}};
  auto shape_for = [&](std::optional<std::string> selector) {
    return lx::make_fsdp_mesh_config(one_node, {"data", "model"},
                                     {.batch_axis_names = {"data"},
                                      .mesh_rules = {{"h100.*", {4, 2}}, {"tpu", hybrid}},
                                      .mesh_selector = selector})
        .mesh_shape;
  };
  const lx::AnyMeshShape<2> preset = lx::HybridMeshShape{{1, 8}, {1, 1}};
  CHECK(shape_for({}) == preset);
  CHECK(shape_for("h100-8") == lx::AnyMeshShape<2>{4, 2});
  CHECK(shape_for("tpu-v4") == lx::AnyMeshShape<2>(hybrid));
  CHECK(shape_for("cpu") == preset);
}

TEST_CASE("a preset's rules can be applied again with another selector") {
  const auto config = lx::make_fsdp_mesh_config(
      one_node, {"data", "model"},
      {.mesh_rules = {{"h100.*", lx::MeshShape{4, 2}}, {"x", lx::HybridMeshShape{{1, 8}, {4, 1}}}},
       .mesh_selector = "h100"});
  CHECK(config.mesh_shape == lx::AnyMeshShape<2>{4, 2});
  CHECK(config.for_selector("cpu").mesh_shape ==
        lx::AnyMeshShape<2>(lx::HybridMeshShape{{1, 8}, {1, 1}}));
}

TEST_CASE("presets refuse what is no cluster of equal nodes, and bad names") {
  CHECK(contains(message_of<lx::ArgumentError>(
                     [] { lx::make_fsdp_mesh_config(Unequal{}, {"data", "model"}); }),
                 {"unequal", "node 0 has 2", "node 1 has 1", "hint: "}));
  CHECK(contains(message_of<lx::ArgumentError>([] { lx::make_ddp_mesh_config(Nothing{}); }),
                 {"no devices", "hint: "}));
  CHECK(contains(
      message_of<lx::ArgumentError>([] { lx::make_fsdp_mesh_config(one_node, {"data", "data"}); }),
      {"'data' twice", "hint: "}));
  CHECK(contains(
      message_of<lx::ArgumentError>([] { lx::make_fsdp_mesh_config(one_node, {"data", ""}); }),
      {"empty name", "hint: "}));
  CHECK(contains(message_of<lx::ArgumentError>([] {
                   lx::make_ddp_mesh_config(one_node, {"data"}, {.batch_axis_names = {"rows"}});
                 }),
                 {"'rows'", "[data]", "hint: "}));
}

TEST_CASE("presets have at most as many axes as a mesh can") {
  const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g", "h", "i"};
  CHECK(contains(
      message_of<lx::NotSupportedError>([&] { lx::make_fsdp_mesh_config(one_node, names); }),
      {"9 values, where at most 8", "hint: "}));
  CHECK(contains(
      message_of<lx::NotSupportedError>([&] { lx::make_ddp_mesh_config(one_node, names); }),
      {"9 values, where at most 8", "hint: "}));
}

TEST_CASE("a preset's rules are checked with its selector") {
  const auto text_for = [](lx::MeshRule<2> rule, std::vector<std::string> batch = {}) {
    return message_of<lx::ArgumentError>([&] {
      lx::make_fsdp_mesh_config(
          one_node, {"data", "model"},
          {.batch_axis_names = batch, .mesh_rules = {rule}, .mesh_selector = "h100"});
    });
  };
  CHECK(contains(text_for({"h100(", {4, 2}}),
                 {"mesh rule 'h100(' is no regular expression", "hint: "}));
  CHECK(contains(text_for({"h100", {4, 2}}, {"data", "data"}),
                 {"batch axis 'data' twice in [data, data]", "hint: "}));
}
