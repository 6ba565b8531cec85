// The contract of the DeviceTopology concept, checked on any model of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <loadax/device/topology.hpp>

#include "support/catch.hpp"

namespace loadax_test {

/// Call it in a test case with a topology; every clause of the contract in
/// <loadax/device/topology.hpp> is a check.
template <loadax::DeviceTopology T>
void check_topology(const T& topology) {
  namespace lx = loadax;
  const auto& held = topology.devices();
  const std::span<const lx::Device> devices(held);

  // One process of at least one; at least one device.
  REQUIRE(topology.process_count() >= 1);
  REQUIRE(topology.process_index() >= 0);
  REQUIRE(topology.process_index() < topology.process_count());
  REQUIRE_FALSE(devices.empty());

  // The same at every call.
  const auto& again = topology.devices();
  REQUIRE(std::vector<lx::Device>(devices.begin(), devices.end()) ==
          std::vector<lx::Device>(std::begin(again), std::end(again)));

  std::set<std::int32_t> processes, nodes;
  std::set<std::pair<std::int32_t, std::int32_t>> places;
  std::size_t with_slice = 0, with_coords = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const lx::Device& device = devices[i];
    INFO("device number " << i << ", id " << device.id);
    REQUIRE(device.id >= 0);
    if (i > 0) REQUIRE(devices[i - 1].id < device.id);  // so ids are unique
    REQUIRE(device.process_index >= 0);
    REQUIRE(device.process_index < topology.process_count());
    REQUIRE(device.node_index >= 0);
    REQUIRE(device.local_id >= 0);
    REQUIRE(places.emplace(device.node_index, device.local_id).second);
    REQUIRE(device.slice_index >= -1);
    REQUIRE_FALSE(device.kind.name().empty());
    processes.insert(device.process_index);
    nodes.insert(device.node_index);
    with_slice += device.slice_index >= 0;
    with_coords += device.has_coords();
  }

  // No process without a device, no gap among the nodes; slices and coordinates for all or none.
  CHECK(processes.size() == static_cast<std::size_t>(topology.process_count()));
  CHECK(*nodes.rbegin() == static_cast<std::int32_t>(nodes.size()) - 1);
  CHECK((with_slice == 0 || with_slice == devices.size()));
  CHECK((with_coords == 0 || with_coords == devices.size()));

  // What the library derives agrees.
  CHECK(lx::node_count(topology) == static_cast<int>(nodes.size()));
  const auto local = lx::local_devices(topology);
  CHECK_FALSE(local.empty());
  std::size_t mine = 0;
  for (const lx::Device& device : devices)
    if (device.process_index == topology.process_index()) {
      REQUIRE(mine < local.size());
      CHECK(local[mine++] == device);
    }
  CHECK(mine == local.size());
}

}  // namespace loadax_test
