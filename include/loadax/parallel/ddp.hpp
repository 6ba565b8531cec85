// The mesh for data parallelism with replicated parameters.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include <loadax/device/topology.hpp>
#include <loadax/mesh/mesh_config.hpp>
#include <loadax/parallel/preset.hpp>

namespace loadax {
inline namespace v0 {

/// All devices on the first batch axis, 1 on the others: 4 nodes of 8 devices are (data=32). Names
/// and rank as for make_fsdp_mesh_config.
/// @throws as make_fsdp_mesh_config
/// @complexity O(devices + rules)
template <DeviceTopology T, std::size_t Rank = 1>
MeshConfig<Rank> make_ddp_mesh_config(const T& topology,
                                      const std::string_view (&mesh_axis_names)[Rank] = {"data"},
                                      PresetOptions<Rank> options = {}) {
  return make_ddp_mesh_config(topology, detail::axis_names_of(mesh_axis_names), std::move(options));
}
template <DeviceTopology T, class Names>
MeshConfig<detail::names_rank<Names>> make_ddp_mesh_config(
    const T& topology, const Names& mesh_axis_names,
    PresetOptions<detail::names_rank<Names>> options = {}) {
  auto names = detail::axis_names_of(mesh_axis_names);
  detail::last_axis(names.size());
  const auto batch = detail::batch_axes(names.values(), options.batch_axis_names);
  const std::size_t axis = detail::find_axis(names.values(), batch[0]);
  return detail::preset(topology, std::move(names), axis, axis, std::move(options));
}

}  // namespace v0
}  // namespace loadax
