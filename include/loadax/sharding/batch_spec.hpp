// MeshConfig::batch_spec, which needs both the config and PartitionSpec.
#pragma once

#include <cstddef>

#include <loadax/mesh/mesh_config.hpp>
#include <loadax/sharding/partition_spec.hpp>

namespace loadax {
inline namespace v0 {

template <std::size_t Rank>
PartitionSpec MeshConfig<Rank>::batch_spec() const {
  return PartitionSpec(Axes{detail::batch_axes(mesh_axis_names.values(), batch_axis_names)});
}

}  // namespace v0
}  // namespace loadax
