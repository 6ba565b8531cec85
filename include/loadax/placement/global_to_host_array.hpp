// From arrays over a mesh back to arrays of this process.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <loadax/array/host_array.hpp>
#include <loadax/array/structure.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/placement/array.hpp>
#include <loadax/placement/copy_batch.hpp>
#include <loadax/sharding/process_local.hpp>

namespace loadax {
inline namespace v0 {

/// What this process has of an array, or of each leaf of a structure: the inverse of
/// `host_to_global_device_array`. Replicas count once. Where all devices are local it is the whole
/// array.
/// @throws NotSupportedError, naming the leaf, where the process's shards do not fill a box
/// @complexity one copy of the data @collective no
template <ArrayStructure S>
rebind_t<S, HostArray> global_to_host_array(const S& arrays) {
  return map_structure<HostArray>(
      [](const LeafPath& path, const auto& array) {
        using T = typename structure<std::remove_cvref_t<decltype(array)>>::element_type;
        const auto layout = detail::naming_leaf(
            path, [&] { return layout_from_global(array.sharding(), array.shape()); });
        auto host = HostArray<T>::uninitialized(layout.local_shape);
        Box whole;
        for (const auto size : layout.local_shape) whole.push_back({0, size});
        const auto shards = array.addressable_shards();
        detail::CopyBatch copies(shards.size());
        for (std::size_t k = 0; k < shards.size(); ++k) {
          bool seen = false;
          for (std::size_t j = 0; j < k && !seen; ++j) seen = layout.boxes[j] == layout.boxes[k];
          if (seen) continue;
          copies.add(k, detail::CopyBatch::Direction::out,
                     copy_of_box(sizeof(T), layout.boxes[k], shards[k].data, layout.boxes[k],
                                 host.data(), whole),
                     shards[k].buffer->memory());
        }
        copies.run(*array.runtime(), array.mesh());
        return host;
      },
      arrays);
}

}  // namespace v0
}  // namespace loadax
