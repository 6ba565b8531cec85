#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <loadax/core/random.hpp>
#include <loadax/device/simulated_topology.hpp>
#include <loadax/mesh/create_device_mesh.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/seed.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;
using Ids = std::vector<int>;

namespace {

Ids ids(const lx::DeviceGrid& grid) {
  Ids result;
  for (const lx::Device& device : grid.devices()) result.push_back(device.id);
  return result;
}

std::vector<lx::Device> list_of(const lx::SimulatedTopology& topology) {
  return {topology.devices().begin(), topology.devices().end()};
}

std::vector<lx::Device> reversed(const lx::SimulatedTopology& topology) {
  auto devices = list_of(topology);
  std::ranges::reverse(devices);
  return devices;
}

}  // namespace

TEST_CASE("GPUs are arranged by id, whatever their order in the list") {
  const lx::SimulatedTopology gpus{{.devices_per_node = 8, .platform = lx::Platform::gpu}};
  const auto grid = lx::create_device_mesh({2, 4}, reversed(gpus));
  CHECK(ids(grid) == Ids{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(std::ranges::equal(grid.shape(), std::vector{2, 4}));
}

TEST_CASE("CPUs are arranged in the order in which they are listed") {
  const lx::SimulatedTopology cpus{{.devices_per_node = 8}};
  CHECK(ids(lx::create_device_mesh({2, 4}, reversed(cpus))) == Ids{7, 6, 5, 4, 3, 2, 1, 0});
  CHECK(ids(lx::create_device_mesh({2, 4}, cpus)) == Ids{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("hybrid meshes lay out granules in blocks") {
  auto layout = [](int nodes, int per_node, lx::HybridMeshShape<> shape) {
    return ids(lx::create_hybrid_device_mesh(
        shape, lx::SimulatedTopology{{.nodes = nodes, .devices_per_node = per_node}}));
  };
  CHECK(layout(2, 4, {{2, 2}, {1, 2}}) == Ids{0, 1, 4, 5, 2, 3, 6, 7});
  CHECK(layout(2, 4, {{2, 2}, {2, 1}}) == Ids{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(layout(4, 2, {{2, 1}, {2, 2}}) == Ids{0, 2, 1, 3, 4, 6, 5, 7});
}

TEST_CASE("within a granule CPUs keep their listed order and GPUs go by id") {
  const lx::SimulatedTopology cpus{{.nodes = 2, .devices_per_node = 4}};
  const lx::HybridMeshShape shape{{1, 4}, {2, 1}};
  CHECK(ids(lx::create_hybrid_device_mesh(shape, reversed(cpus))) == Ids{3, 2, 1, 0, 7, 6, 5, 4});
  const lx::SimulatedTopology gpus{
      {.nodes = 2, .devices_per_node = 4, .platform = lx::Platform::gpu}};
  CHECK(ids(lx::create_hybrid_device_mesh(shape, reversed(gpus))) == Ids{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("a granule is a node, also where every device has a process of its own") {
  const lx::SimulatedTopology topology{
      {.nodes = 2, .devices_per_node = 4, .processes = lx::Processes::per_device}};
  const lx::HybridMeshShape by_node{{2, 2}, {1, 2}};
  CHECK(ids(lx::create_hybrid_device_mesh(by_node, topology)) == Ids{0, 1, 4, 5, 2, 3, 6, 7});
  CHECK(contains(message_of<lx::ArgumentError>([&] {
                   lx::create_hybrid_device_mesh(by_node, topology, lx::GranuleBy::process);
                 }),
                 {"ici [2, 2] x dcn [1, 2]", "2 processes", "8 processes", "hint: "}));
}

TEST_CASE("granules may be forced to be processes or slices") {
  const lx::SimulatedTopology topology{
      {.nodes = 2, .devices_per_node = 2, .processes = lx::Processes::per_device}};
  CHECK(ids(lx::create_hybrid_device_mesh({{1, 1}, {2, 2}}, topology, lx::GranuleBy::process)) ==
        Ids{0, 1, 2, 3});

  auto devices = list_of(topology);
  for (auto& device : devices) device.slice_index = device.id % 2;
  CHECK(ids(lx::create_hybrid_device_mesh({{2}, {2}}, devices, lx::GranuleBy::slice)) ==
        Ids{0, 2, 1, 3});
  CHECK(contains(message_of<lx::ArgumentError>([&] {
                   lx::create_hybrid_device_mesh({{2}, {2}}, topology, lx::GranuleBy::slice);
                 }),
                 {"device 0 has no slice_index", "hint: ", "GranuleBy::node"}));
}

TEST_CASE("granules are sorted by their number, which need not be dense") {
  std::vector<lx::Device> devices;
  for (int i = 0; i < 6; ++i) devices.push_back({.id = i, .node_index = 9 - 3 * (i / 2)});
  CHECK(ids(lx::create_hybrid_device_mesh({{2}, {3}}, devices)) == Ids{4, 5, 2, 3, 0, 1});
}

TEST_CASE("granules that do not fit the shape are errors that name both") {
  const lx::SimulatedTopology topology{{.nodes = 2, .devices_per_node = 4}};
  auto text_for = [&](lx::HybridMeshShape<> shape, std::vector<lx::Device> devices) {
    return message_of<lx::ArgumentError>([&] { lx::create_hybrid_device_mesh(shape, devices); });
  };
  CHECK(contains(
      text_for({{1, 8}, {4, 1}}, list_of(topology)),
      {"ici [1, 8] x dcn [4, 1]", "4 nodes of 8 devices", "8 devices are on 2 nodes", "hint: "}));
  CHECK(contains(text_for({{1, 2}, {2, 1}}, list_of(topology)),
                 {"2 nodes of 2 devices", "node 0 has 4", "hint: "}));
  auto seven = list_of(topology);
  seven.pop_back();
  CHECK(contains(text_for({{1, 4}, {2, 1}}, seven), {"node 1 has 3", "hint: "}));
  CHECK(contains(text_for({{1, 4}, {2}}, list_of(topology)),
                 {"hybrid mesh shape ici [1, 4] x dcn [2]: 2 axes in ici and 1 in dcn", "hint: "}));
  CHECK(contains(text_for({{1, 0}, {2, 1}}, list_of(topology)),
                 {"mesh shape [1, 0] has size 0 at axis 1", "hint: "}));
}

TEST_CASE("devices that are no mesh are errors that name shape and count") {
  const lx::SimulatedTopology topology{{.devices_per_node = 8}};
  auto text_for = [](lx::MeshShape<> shape, std::vector<lx::Device> devices) {
    return message_of<lx::ArgumentError>([&] { lx::create_device_mesh(shape, devices); });
  };
  CHECK(contains(text_for({3, 2}, list_of(topology)),
                 {"mesh shape [3, 2] is for 6 devices, not for 8", "hint: "}));
  CHECK(contains(text_for({-2, -4}, list_of(topology)), {"[-2, -4]", "size -2", "hint: "}));
  CHECK(contains(text_for({std::int64_t{1} << 33, std::int64_t{1} << 33}, list_of(topology)),
                 {"[8589934592, 8589934592]", "hint: "}));
  CHECK(contains(text_for({2}, {}), {"a mesh of 0 devices", "hint: "}));
  CHECK(contains(text_for({3}, {{.id = 4}, {.id = 7}, {.id = 4}}),
                 {"device 4 twice among 3 devices", "hint: "}));
  CHECK(contains(text_for({2}, {{.id = 0}, {.id = 1, .platform = lx::Platform::gpu}}),
                 {"device 0 is a cpu", "device 1 a gpu", "hint: "}));
}

TEST_CASE("devices on a torus are refused, not arranged as if they were CPUs") {
  const lx::SimulatedTopology tpus{
      {.devices_per_node = 4, .platform = lx::Platform::tpu, .kind = "TPU v4"}};
  CHECK(contains(message_of<lx::NotSupportedError>([&] { lx::create_device_mesh({2, 2}, tpus); }),
                 {"device 0", "torus", "TPU v4", "hint: "}));
  CHECK(contains(
      message_of<lx::NotSupportedError>([&] { lx::create_hybrid_device_mesh({{4}, {1}}, tpus); }),
      {"torus", "hint: "}));
  const std::vector<lx::Device> placed{{.id = 5, .coords = {.x = 0, .y = 0, .z = 0}}};
  CHECK(contains(message_of<lx::NotSupportedError>([&] { lx::create_device_mesh({1}, placed); }),
                 {"device 5", "torus"}));
  // In an order that the caller chose they can be used.
  CHECK(ids(lx::DeviceGrid({2, 2}, tpus.devices())) == Ids{0, 1, 2, 3});
}

TEST_CASE("every arrangement is a permutation of its devices") {
  const auto seed = loadax_test::seed();
  INFO("LOADAX_TEST_SEED=" << seed);
  lx::CounterRandom random{seed};
  for (int round = 0; round < 200; ++round) {
    const std::size_t rank = 1 + random.below(3);
    std::vector<std::int64_t> ici, dcn;
    std::int64_t members = 1, granules = 1;
    for (std::size_t k = 0; k < rank; ++k) {
      ici.push_back(1 + static_cast<std::int64_t>(random.below(3)));
      dcn.push_back(1 + static_cast<std::int64_t>(random.below(3)));
      members *= ici[k];
      granules *= dcn[k];
    }
    const bool gpus = random.below(2) == 1;
    std::vector<lx::Device> devices;
    for (int i = 0, id = 3; i < members * granules;
         ++i, id += 1 + static_cast<int>(random.below(3)))
      devices.push_back({.id = id,
                         .node_index = static_cast<int>(i % granules),
                         .platform = gpus ? lx::Platform::gpu : lx::Platform::cpu});
    for (std::size_t i = devices.size(); i > 1; --i)
      std::swap(devices[i - 1], devices[random.below(i)]);

    const auto grid =
        lx::create_hybrid_device_mesh({lx::MeshShape<>(ici), lx::MeshShape<>(dcn)}, devices);
    REQUIRE(grid.size() == devices.size());
    std::vector<lx::Device> arranged(grid.devices().begin(), grid.devices().end());
    REQUIRE(std::ranges::is_permutation(arranged, devices));

    // The definition: coordinate k = dcn_k * ici_size_k + ici_k, granules and members row-major.
    std::vector<lx::Device> listed = devices, sorted;
    if (gpus) std::ranges::sort(listed, {}, &lx::Device::id);
    for (int node = 0; node < granules; ++node)
      for (const lx::Device& device : listed)
        if (device.node_index == node) sorted.push_back(device);
    for (std::size_t position = 0; position < grid.size(); ++position) {
      std::size_t rest = position, granule = 0, member = 0, granule_step = 1, member_step = 1;
      for (std::size_t k = rank; k-- > 0;) {
        const auto inner = static_cast<std::size_t>(ici[k]);
        const auto outer = static_cast<std::size_t>(dcn[k]);
        const std::size_t coordinate = rest % (inner * outer);
        rest /= inner * outer;
        member += coordinate % inner * member_step;
        granule += coordinate / inner * granule_step;
        member_step *= inner;
        granule_step *= outer;
      }
      REQUIRE(grid[position] == sorted[granule * static_cast<std::size_t>(members) + member]);
    }
    for (std::size_t position = 0; position < grid.size(); ++position)
      REQUIRE(grid.find(grid[position]) == position);
    REQUIRE_FALSE(grid.find({.id = 2}).has_value());
    REQUIRE_FALSE(grid.find({.id = 100000}).has_value());
  }
}
