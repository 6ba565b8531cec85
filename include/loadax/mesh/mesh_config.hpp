// What mesh a program wants: a shape, axis names, and rules for particular machines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/core/log.hpp>
#include <loadax/device/topology.hpp>
#include <loadax/mesh/axis_names.hpp>
#include <loadax/mesh/create_device_mesh.hpp>
#include <loadax/mesh/hybrid_mesh_shape.hpp>
#include <loadax/mesh/infer_mesh_shape.hpp>
#include <loadax/mesh/mesh.hpp>
#include <loadax/mesh/rules.hpp>

namespace loadax {
inline namespace v0 {

class PartitionSpec;

struct DeviceMeshOptions {
  GranuleBy granule_by = GranuleBy::automatic;
  OnIndivisible on_indivisible = OnIndivisible::error;
};

namespace detail {

/// The names themselves, or where there are none: "data" if it is an axis, else the first axis.
/// @throws ArgumentError for a name that is no mesh axis, or is there twice
inline std::vector<std::string> batch_axes(std::span<const std::string> mesh_axis_names,
                                           std::vector<std::string> names) {
  if (names.empty() && !mesh_axis_names.empty()) {
    const bool has_data = std::ranges::find(mesh_axis_names, "data") != mesh_axis_names.end();
    return {has_data ? "data" : mesh_axis_names[0]};
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(names.begin(), end, names[i]) != end)
      throw ArgumentError(fmt::format("batch axis '{}' twice in {}", names[i], bracketed(names)),
                          "name each batch axis once");
    if (std::ranges::find(mesh_axis_names, names[i]) == mesh_axis_names.end())
      throw ArgumentError(fmt::format("batch axis '{}' is no mesh axis", names[i]),
                          fmt::format("the mesh axes are {}", bracketed(mesh_axis_names)));
  }
  return names;
}

/// @throws ArgumentError for a device that the topology does not have
inline void check_subset(std::span<const Device> some, std::span<const Device> all) {
  if (some.data() == all.data() && some.size() == all.size()) return;
  for (const Device& device : some) {
    const auto found = std::ranges::lower_bound(all, device.id, {}, &Device::id);
    if (found == all.end() || *found != device)
      throw ArgumentError(
          fmt::format("device {} is not one of the topology's {} devices", device.id, all.size()),
          "choose from topology.devices()");
  }
}

inline DeviceGrid arrange(const HybridMeshShape<>& shape, std::span<const Device> devices,
                          const DeviceMeshOptions& options) {
  auto inferable = [](const MeshShape<>& level) {
    return std::ranges::count(level.sizes(), -1) > 0;
  };
  if (!inferable(shape.ici_mesh_shape) && !inferable(shape.dcn_mesh_shape))
    return create_hybrid_device_mesh(shape, devices, options.granule_by);
  const auto granules = granule_sizes(devices, resolve(options.granule_by, devices[0]));
  return create_hybrid_device_mesh(
      infer_mesh_shape(shape, {static_cast<std::int64_t>(devices.size()),
                               static_cast<std::int64_t>(granules.size())}),
      devices, options.granule_by);
}

inline DeviceGrid arrange(const MeshShape<>& shape, std::span<const Device> devices,
                          const DeviceMeshOptions& options) {
  const auto granules = granule_sizes(devices, resolve(options.granule_by, devices[0]));
  const auto split = split_over_granules(
      shape,
      {static_cast<std::int64_t>(devices.size()), static_cast<std::int64_t>(granules.size())},
      options.on_indivisible);
  if (const auto* plain = std::get_if<MeshShape<>>(&split.value()))
    return create_device_mesh(*plain, devices);
  return create_hybrid_device_mesh(std::get<HybridMeshShape<>>(split.value()), devices,
                                   options.granule_by);
}

}  // namespace detail

/// A mesh to be made, as a plain value: it may be made from one topology and used with another.
template <std::size_t Rank = dynamic_rank>
struct MeshConfig {
  AnyMeshShape<Rank> mesh_shape;
  AxisNames<Rank> mesh_axis_names;
  /// The axes that a batch's rows are split over, major first. Where empty: "data" if there is such
  /// an axis, else the first.
  std::vector<std::string> batch_axis_names = {};
  /// Looked at by `for_selector` alone.
  std::vector<MeshRule<Rank>> mesh_rules = {};
  /// What `for_selector` gives where no rule matches; `mesh_shape` where absent.
  std::optional<AnyMeshShape<Rank>> default_mesh_shape = {};

  /// A mesh of all devices. A plain mesh_shape on several nodes becomes a hybrid one, its first
  /// axis above 1 going across them; a -1 is inferred.
  /// @throws ArgumentError where shape and devices do not fit, with both counts
  /// @complexity O(n) for n devices where ids and nodes ascend, else O(n log n)
  template <DeviceTopology T>
  Mesh create_device_mesh(const T& topology, const DeviceMeshOptions& options = {}) const {
    const auto& all = topology.devices();
    return create_device_mesh(topology, std::span<const Device>(all), options);
  }

  /// A mesh of some of a topology's devices, in the same way, and at the same cost.
  template <DeviceTopology T>
  Mesh create_device_mesh(const T& topology, std::span<const Device> devices,
                          const DeviceMeshOptions& options = {}) const {
    check();
    const auto& all = topology.devices();
    detail::check_subset(devices, all);
    if (devices.empty())
      throw ArgumentError(fmt::format("mesh shape {} for 0 devices", to_string(mesh_shape)),
                          "give at least one device");
    auto grid =
        std::visit([&](const auto& shape) { return detail::arrange(shape, devices, options); },
                   mesh_shape.value());
    return {std::move(grid), mesh_axis_names, static_cast<int>(topology.process_index())};
  }

  /// This config with the mesh shape of the first rule that matches, else with the default one.
  /// @throws ArgumentError for a pattern that is invalid, or whose match would take too long
  /// @complexity O(rules)
  MeshConfig for_selector(std::string_view selector) const {
    MeshConfig result = *this;
    result.default_mesh_shape = default_mesh_shape.value_or(mesh_shape);
    const auto* rule = first_matching_rule(std::span<const MeshRule<Rank>>(mesh_rules), selector);
    result.mesh_shape = rule ? rule->shape : *result.default_mesh_shape;
    result.check();
    return result;
  }

  /// How a batch is sharded: its rows over the batch axes. Defined in sharding/batch_spec.hpp.
  /// @throws ArgumentError for a batch axis that is no mesh axis
  PartitionSpec batch_spec() const;

  /// @throws ArgumentError where there is not one name for each mesh axis, or for a batch axis that
  ///   is no mesh axis
  void check() const {
    detail::check_one_name_for_each_axis(mesh_axis_names.values(), mesh_shape.rank(),
                                         to_string(mesh_shape));
    detail::batch_axes(mesh_axis_names.values(), batch_axis_names);
  }
};

}  // namespace v0
}  // namespace loadax
