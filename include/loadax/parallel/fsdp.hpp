// The mesh for fully sharded data parallelism.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include <loadax/device/topology.hpp>
#include <loadax/mesh/mesh_config.hpp>
#include <loadax/parallel/preset.hpp>

namespace loadax {
inline namespace v0 {

/// The devices of a node on the last axis (parameters are sharded over it within the fast
/// interconnect), the nodes on the first: 4 nodes of 8 devices with {"data", "model"} are
/// (data=4, model=8). The rank is that of the names: in braces, std::array or AxisNames, or known
/// at run time for a std::vector.
/// @throws ArgumentError where nodes differ in size or there are none, for an axis name that is
///   empty or there twice, for a batch axis that is no mesh axis, and from rules
/// @complexity O(devices + rules)
template <DeviceTopology T, std::size_t Rank>
MeshConfig<Rank> make_fsdp_mesh_config(const T& topology,
                                       const std::string_view (&mesh_axis_names)[Rank],
                                       PresetOptions<Rank> options = {}) {
  return make_fsdp_mesh_config(topology, detail::axis_names_of(mesh_axis_names),
                               std::move(options));
}
template <DeviceTopology T, class Names>
MeshConfig<detail::names_rank<Names>> make_fsdp_mesh_config(
    const T& topology, const Names& mesh_axis_names,
    PresetOptions<detail::names_rank<Names>> options = {}) {
  auto names = detail::axis_names_of(mesh_axis_names);
  const std::size_t last = detail::last_axis(names.size());
  return detail::preset(topology, std::move(names), last, 0, std::move(options));
}

}  // namespace v0
}  // namespace loadax
