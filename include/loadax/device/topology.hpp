// What a job's devices are: the concept, and questions that every model of it answers.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/device/device.hpp>

namespace loadax {
inline namespace v0 {

/// All devices of a job, as seen from one of its processes.
///
/// - `devices()`: every device of the job, not only this process's, by strictly ascending id; the
///   same in every process and at every call; at least one for each process.
/// - `process_index()`: this process, in [0, process_count()).
/// - A device's `process_index` is in that range, its `node_index` counts nodes from 0 without
///   gaps, and its `local_id` is unique on its node.
template <class T>
concept DeviceTopology = requires(const T& topology) {
  { topology.process_index() } -> std::convertible_to<int>;
  { topology.process_count() } -> std::convertible_to<int>;
  { topology.devices() } -> std::convertible_to<std::span<const Device>>;
};

namespace detail {

struct GroupSize {
  std::int32_t key;
  std::size_t size;
};

/// How many devices there are of each key, by ascending key. O(n) where equal keys stand together.
template <class Key>
std::vector<GroupSize> group_sizes(std::span<const Device> devices, Key key) {
  std::vector<GroupSize> groups;
  for (const Device& device : devices) {
    const std::int32_t k = key(device);
    if (groups.empty() || groups.back().key != k) groups.push_back({k, 0});
    ++groups.back().size;
  }
  std::ranges::sort(groups, {}, &GroupSize::key);
  std::size_t used = 0;
  for (const GroupSize& group : groups) {
    if (used > 0 && groups[used - 1].key == group.key)
      groups[used - 1].size += group.size;
    else
      groups[used++] = group;
  }
  groups.resize(used);
  return groups;
}

inline std::vector<GroupSize> node_sizes(std::span<const Device> devices) {
  return group_sizes(devices, [](const Device& device) { return device.node_index; });
}

}  // namespace detail

/// The devices that this process drives, by id. O(n)
template <DeviceTopology T>
std::vector<Device> local_devices(const T& topology) {
  std::vector<Device> local;
  const auto& all = topology.devices();
  for (const Device& device : std::span<const Device>(all))
    if (device.process_index == topology.process_index()) local.push_back(device);
  return local;
}

/// How many different nodes the devices are on. O(n)
template <DeviceTopology T>
int node_count(const T& topology) {
  return static_cast<int>(detail::node_sizes(topology.devices()).size());
}

/// How many devices each node has. O(n)
/// @throws ArgumentError where there are none, or nodes differ
template <DeviceTopology T>
int devices_per_node(const T& topology) {
  const auto nodes = detail::node_sizes(topology.devices());
  if (nodes.empty())
    throw ArgumentError("the topology has no devices", "is the engine initialised?");
  for (const auto& node : nodes)
    if (node.size != nodes[0].size)
      throw ArgumentError(
          fmt::format("nodes of unequal size: node {} has {} devices, node {} has {}", nodes[0].key,
                      nodes[0].size, node.key, node.size),
          "give MeshConfig a mesh_shape of your own, or leave devices out");
  return static_cast<int>(nodes[0].size);
}

}  // namespace v0
}  // namespace loadax
