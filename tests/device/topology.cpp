#include "conformance/topology.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/device/simulated_topology.hpp>
#include <loadax/device/topology.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

namespace {

// A user's own topology: two machines, one process on each, three and one devices, ids with gaps.
struct TwoMachines {
  int process_index() const { return 1; }
  int process_count() const { return 2; }
  std::vector<lx::Device> devices() const {
    return {{.id = 10, .local_id = 0},
            {.id = 12, .local_id = 1},
            {.id = 14, .local_id = 2},
            {.id = 90, .process_index = 1, .node_index = 1}};
  }
};

struct NoDevices {
  int process_index() const { return 0; }
  int process_count() const { return 1; }
  std::vector<lx::Device> devices() const { return {}; }
};

struct NoProcesses {
  std::vector<lx::Device> devices() const { return {}; }
};

static_assert(lx::DeviceTopology<TwoMachines>);
static_assert(!lx::DeviceTopology<NoProcesses>);
static_assert(!lx::DeviceTopology<int>);

}  // namespace

TEST_CASE("simulated topologies keep the topology contract") {
  using lx::Processes;
  const lx::SimulatedTopology::Options several[] = {
      {},
      {.nodes = 1, .devices_per_node = 8},
      {.nodes = 2, .devices_per_node = 4},
      {.nodes = 4, .devices_per_node = 2, .processes = Processes::per_node, .process_index = 3},
      {.nodes = 3, .devices_per_node = 5, .processes = Processes::per_device, .process_index = 7},
      {.devices_per_node = 8, .platform = lx::Platform::gpu, .kind = "NVIDIA H100"},
      {.nodes = 50, .devices_per_node = 8, .processes = Processes::per_device}};
  for (const auto& options : several) loadax_test::check_topology(lx::SimulatedTopology{options});
}

TEST_CASE("a topology that a user writes in a few lines keeps the topology contract") {
  loadax_test::check_topology(TwoMachines{});
}

TEST_CASE("one process drives all devices of a simulated topology by default") {
  const lx::SimulatedTopology topology{{.nodes = 2, .devices_per_node = 4}};
  CHECK(topology.process_count() == 1);
  CHECK(lx::local_devices(topology).size() == 8);
  CHECK(lx::node_count(topology) == 2);
  CHECK(lx::devices_per_node(topology) == 4);
  const lx::Device& last = topology.devices()[7];
  CHECK(last.id == 7);
  CHECK(last.node_index == 1);
  CHECK(last.local_id == 3);
  CHECK(last.kind.name() == "cpu");
}

TEST_CASE("a simulated topology plays any process of a job") {
  const lx::SimulatedTopology by_node{{.nodes = 2,
                                       .devices_per_node = 4,
                                       .processes = lx::Processes::per_node,
                                       .process_index = 1}};
  CHECK(by_node.process_count() == 2);
  CHECK(lx::local_devices(by_node).size() == 4);
  CHECK(lx::local_devices(by_node)[0].id == 4);

  const lx::SimulatedTopology by_device{{.nodes = 2,
                                         .devices_per_node = 4,
                                         .processes = lx::Processes::per_device,
                                         .process_index = 6}};
  CHECK(by_device.process_count() == 8);
  REQUIRE(lx::local_devices(by_device).size() == 1);
  CHECK(lx::local_devices(by_device)[0].id == 6);
  CHECK(lx::local_devices(by_device)[0].node_index == 1);
}

TEST_CASE("a simulated topology without nodes, devices or such a process is an error") {
  auto text_for = [](lx::SimulatedTopology::Options options) {
    return message_of<lx::ArgumentError>([&] { lx::SimulatedTopology{options}; });
  };
  CHECK(contains(text_for({.nodes = 0}), {"SimulatedTopology: nodes is 0", "hint: "}));
  CHECK(contains(text_for({.devices_per_node = -3}),
                 {"SimulatedTopology: devices_per_node is -3", "hint: "}));
  CHECK(contains(text_for({.nodes = 1 << 20, .devices_per_node = 1 << 20}),
                 {"1048576 nodes of 1048576 devices", "hint: "}));
  CHECK(contains(text_for({.devices_per_node = 8, .process_index = 1}),
                 {"process_index 1 of 1 processes", "hint: "}));
  CHECK(contains(text_for({.processes = lx::Processes::per_node, .process_index = -1}),
                 {"process_index -1", "hint: "}));
}

TEST_CASE("nodes are counted by their different numbers, not by the largest") {
  struct Subset {
    int process_index() const { return 0; }
    int process_count() const { return 1; }
    std::vector<lx::Device> devices() const {
      return {{.id = 0, .node_index = 5},
              {.id = 1, .node_index = 2},
              {.id = 2, .node_index = 5},
              {.id = 3, .node_index = 2}};
    }
  };
  CHECK(lx::node_count(Subset{}) == 2);
  CHECK(lx::devices_per_node(Subset{}) == 2);
}

TEST_CASE("nodes of unequal size have no number of devices per node") {
  const auto text =
      message_of<lx::ArgumentError>([] { (void)lx::devices_per_node(TwoMachines{}); });
  CHECK(contains(text, {"unequal", "node 0 has 3", "node 1 has 1", "hint: "}));
}

TEST_CASE("a topology without devices has no devices per node") {
  CHECK(lx::node_count(NoDevices{}) == 0);
  const auto text = message_of<lx::ArgumentError>([] { (void)lx::devices_per_node(NoDevices{}); });
  CHECK(contains(text, {"the topology has no devices", "hint: "}));
}
