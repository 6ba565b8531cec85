// What the presets for meshes share.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/device/topology.hpp>
#include <loadax/mesh/axis_names.hpp>
#include <loadax/mesh/mesh_config.hpp>
#include <loadax/mesh/rules.hpp>
#include <loadax/sharding/batch_spec.hpp>

namespace loadax {
inline namespace v0 {

template <std::size_t Rank = dynamic_rank>
struct PresetOptions {
  /// The axes that a batch is split over; by default "data" if there is such an axis, else the
  /// first.
  std::vector<std::string> batch_axis_names = {};
  std::vector<MeshRule<Rank>> mesh_rules = {};
  /// What the rules are matched against. Without one they are kept but not applied.
  std::optional<std::string> mesh_selector = {};
};

namespace detail {

/// Axis names as a preset takes them: in braces, or as one of these.
template <std::size_t Rank>
AxisNames<Rank> axis_names_of(const std::string_view (&names)[Rank]) {
  std::array<std::string, Rank> copies;
  std::ranges::copy(names, copies.begin());
  return copies;
}
template <std::size_t Rank>
AxisNames<Rank> axis_names_of(const std::array<std::string, Rank>& names) {
  return names;
}
template <std::size_t Rank>
AxisNames<Rank> axis_names_of(const AxisNames<Rank>& names) {
  return names;
}
template <std::same_as<std::vector<std::string>> Names>
AxisNames<> axis_names_of(const Names& names) {
  return names;
}

/// The number of names where their type tells it, else dynamic_rank.
template <class Names>
  requires requires(const Names& names) { axis_names_of(names); }
inline constexpr std::size_t names_rank =
    decltype(axis_names_of(std::declval<const Names&>()))::static_rank;

/// A config with all devices of a node on one axis, and all nodes on one axis.
template <DeviceTopology T, std::size_t Rank>
MeshConfig<Rank> preset(const T& topology, AxisNames<Rank> names, std::size_t devices_axis,
                        std::size_t nodes_axis, PresetOptions<Rank> options) {
  auto ici = MeshSizes::filled(names.size(), 1), dcn = ici;
  ici[devices_axis] = devices_per_node(topology);
  dcn[nodes_axis] = node_count(topology);
  auto batch = batch_axes(names.values(), std::move(options.batch_axis_names));
  MeshConfig<Rank> config{HybridMeshShape<Rank>{mesh_shape_of<Rank>(ici), mesh_shape_of<Rank>(dcn)},
                          std::move(names), std::move(batch), std::move(options.mesh_rules)};
  return options.mesh_selector ? config.for_selector(*options.mesh_selector) : config;
}

/// @throws ArgumentError where there are no axes
inline std::size_t last_axis(std::size_t rank) {
  if (rank == 0) throw ArgumentError("a preset mesh without axes", "give at least one axis name");
  return rank - 1;
}

}  // namespace detail

}  // namespace v0
}  // namespace loadax
