// Arranging devices in a mesh shape.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/device/device.hpp>
#include <loadax/device/topology.hpp>
#include <loadax/mesh/device_grid.hpp>
#include <loadax/mesh/hybrid_mesh_shape.hpp>
#include <loadax/mesh/mesh_shape.hpp>

namespace loadax {
inline namespace v0 {

/// What the devices of one fast interconnect share.
enum class GranuleBy {
  /// The slice for TPUs, the node for all others.
  automatic,
  slice,
  node,
  process
};

constexpr std::string_view name(GranuleBy by) noexcept {
  constexpr std::string_view names[] = {"granule", "slice", "node", "process"};
  return names[static_cast<std::size_t>(by)];
}

namespace detail {

inline GranuleBy resolve(GranuleBy by, const Device& device) {
  if (by != GranuleBy::automatic) return by;
  return device.platform == Platform::tpu ? GranuleBy::slice : GranuleBy::node;
}

inline std::int32_t granule_key(GranuleBy by, const Device& device) {
  if (by == GranuleBy::process) return device.process_index;
  if (by == GranuleBy::node) return device.node_index;
  if (device.slice_index < 0)
    throw ArgumentError(fmt::format("device {} has no slice_index", device.id),
                        "choose GranuleBy::node or GranuleBy::process");
  return device.slice_index;
}

inline std::vector<GroupSize> granule_sizes(std::span<const Device> devices, GranuleBy by) {
  return group_sizes(devices, [by](const Device& device) { return granule_key(by, device); });
}

/// GPUs go by id, CPUs as the caller lists them.
/// @throws NotSupportedError for devices on a torus
inline DeviceTable dispatch_by_platform(DeviceTable table) {
  const Device& first = table.devices.front();
  const auto on_torus = std::ranges::find_if(table.devices, &Device::has_coords);
  if (first.platform == Platform::tpu || on_torus != table.devices.end())
    throw NotSupportedError(
        fmt::format("device {} is on a torus ({}), and arranging a mesh along a torus is not "
                    "supported",
                    on_torus != table.devices.end() ? on_torus->id : first.id, first.kind.name()),
        "order the devices yourself: Mesh{DeviceGrid{shape, devices}, axis_names}");
  if (first.platform == Platform::gpu) std::iota(table.given.begin(), table.given.end(), 0U);
  return table;
}

/// "1 node", "8 processes"
inline std::string counted(std::int64_t count, GranuleBy by) {
  const std::string_view plural = by == GranuleBy::process ? "es" : "s";
  return fmt::format("{} {}{}", count, name(by), count == 1 ? "" : plural);
}

/// Checks that granules and shape fit each other, and names both where they do not.
inline void check_granules(const HybridMeshShape<>& shape, std::int64_t ici, std::int64_t dcn,
                           std::span<const GroupSize> granules, GranuleBy by, std::size_t devices) {
  const std::string meant =
      fmt::format("mesh shape {} is for {} of {} devices", to_string(shape), counted(dcn, by), ici);
  if (std::cmp_not_equal(dcn, granules.size()))
    throw ArgumentError(fmt::format("{}; the {} devices are on {}", meant, devices,
                                    counted(static_cast<std::int64_t>(granules.size()), by)),
                        "make the product of dcn_mesh_shape the number of granules");
  for (const GroupSize& granule : granules)
    if (std::cmp_not_equal(ici, granule.size))
      throw ArgumentError(
          fmt::format("{}; {} {} has {}", meant, name(by), granule.key, granule.size),
          "make the product of ici_mesh_shape the number of devices in each granule");
}

/// The table's `given` devices granule by granule, in the same order within each.
inline std::vector<std::uint32_t> sort_by_granule(const DeviceTable& table,
                                                  std::span<const GroupSize> granules, GranuleBy by,
                                                  std::size_t members) {
  std::vector<std::uint32_t> sorted(table.given.size());
  std::vector<std::size_t> filled(granules.size(), 0);
  std::size_t granule = 0;
  for (const std::uint32_t i : table.given) {
    const std::int32_t key = granule_key(by, table.devices[i]);
    if (granules[granule].key != key)
      granule = static_cast<std::size_t>(
          std::ranges::lower_bound(granules, key, {}, &GroupSize::key) - granules.begin());
    sorted[granule * members + filled[granule]++] = i;
  }
  return sorted;
}

/// Position of granule member -> position in the mesh: axis k has dcn_k blocks of ici_k. Calls
/// `place(granule, member, position)`, granules and members row-major in their own shapes.
template <class Place>
void for_each_hybrid_position(std::span<const std::int64_t> ici, std::span<const std::int64_t> dcn,
                              Place place) {
  auto ici_strides = MeshSizes::filled(ici.size(), 0), dcn_strides = ici_strides;
  std::int64_t stride = 1;
  for (std::size_t k = ici.size(); k-- > 0; stride *= ici[k] * dcn[k]) {
    ici_strides[k] = stride;
    dcn_strides[k] = stride * ici[k];
  }
  auto offsets = [](std::span<const std::int64_t> sizes, const MeshSizes& strides) {
    std::vector<std::int64_t> result{0};
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      std::vector<std::int64_t> next;
      next.reserve(result.size() * static_cast<std::size_t>(sizes[k]));
      for (const std::int64_t base : result)
        for (std::int64_t i = 0; i < sizes[k]; ++i) next.push_back(base + i * strides[k]);
      result = std::move(next);
    }
    return result;
  };
  const auto members = offsets(ici, ici_strides), granules = offsets(dcn, dcn_strides);
  for (std::size_t g = 0; g < granules.size(); ++g)
    for (std::size_t m = 0; m < members.size(); ++m)
      place(g, m, static_cast<std::size_t>(granules[g] + members[m]));
}

}  // namespace detail

/// Arranges devices row-major: GPUs by id, CPUs in the order in which they are listed.
/// @throws ArgumentError where there are none, their number is not the shape's product, a size is
///   not positive, a device is there twice, or they are of two platforms
/// @throws NotSupportedError for TPUs
/// @complexity O(n) where ids ascend, else O(n log n)
inline DeviceGrid create_device_mesh(const MeshShape<>& shape, std::span<const Device> devices) {
  return {shape, detail::dispatch_by_platform(detail::make_device_table(devices))};
}

/// Arranges devices on two levels. Granules are sorted by their key and laid out by dcn_mesh_shape;
/// the devices within each as create_device_mesh does it. Coordinate k of a device is its
/// granule's coordinate k times ici_mesh_shape[k], plus its own within the granule.
/// @throws as create_device_mesh, and ArgumentError where granules and shape do not fit, the ranks
///   differ, or slices are asked for and a device has none
/// @complexity O(n) where ids and granules ascend, else O(n log n)
inline DeviceGrid create_hybrid_device_mesh(const HybridMeshShape<>& shape,
                                            std::span<const Device> devices,
                                            GranuleBy granule_by = GranuleBy::automatic) {
  const auto& [ici, dcn] = shape;
  detail::check_equal_ranks(shape);
  const std::int64_t ici_count = device_count(ici), dcn_count = device_count(dcn);
  auto table = detail::dispatch_by_platform(detail::make_device_table(devices));
  const GranuleBy by = detail::resolve(granule_by, table.devices.front());
  const auto granules = detail::granule_sizes(table.devices, by);
  detail::check_granules(shape, ici_count, dcn_count, granules, by, devices.size());

  const auto members = static_cast<std::size_t>(ici_count);
  const auto by_granule = detail::sort_by_granule(table, granules, by, members);
  detail::for_each_hybrid_position(
      ici.sizes(), dcn.sizes(), [&](std::size_t granule, std::size_t member, std::size_t position) {
        table.given[position] = by_granule[granule * members + member];
      });

  MeshSizes sizes;
  for (std::size_t k = 0; k < ici.rank(); ++k) sizes.push_back(ici[k] * dcn[k]);
  return {MeshShape<>(std::span<const std::int64_t>(sizes.data(), sizes.size())), std::move(table)};
}

/// All devices of a topology.
template <DeviceTopology T>
DeviceGrid create_device_mesh(const MeshShape<>& shape, const T& topology) {
  return create_device_mesh(shape, std::span<const Device>(topology.devices()));
}
template <DeviceTopology T>
DeviceGrid create_hybrid_device_mesh(const HybridMeshShape<>& shape, const T& topology,
                                     GranuleBy granule_by = GranuleBy::automatic) {
  return create_hybrid_device_mesh(shape, std::span<const Device>(topology.devices()), granule_by);
}

}  // namespace v0
}  // namespace loadax
