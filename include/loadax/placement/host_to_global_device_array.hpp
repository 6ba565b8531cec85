// From arrays of this process to arrays over a mesh.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <loadax/array/structure.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/mesh/scope.hpp>
#include <loadax/placement/array.hpp>
#include <loadax/placement/copy_batch.hpp>
#include <loadax/placement/runtime.hpp>
#include <loadax/placement/specs.hpp>
#include <loadax/sharding/named_sharding.hpp>
#include <loadax/sharding/partition_spec.hpp>
#include <loadax/sharding/process_local.hpp>

namespace loadax {
inline namespace v0 {

/// How process-local data becomes global.
enum class DataPartitionType {
  /// Dimension 0 is split over all mesh axes: each device's rows are its own.
  full,
  /// Each device has all of it.
  replicated
};

namespace detail {

/// Places the leaves of `host`; `specs` is one spec, or a structure that goes with `host`.
template <class S, class Specs>
rebind_t<S, Array> place(const Mesh& mesh, const S& host, const Specs& specs) {
  const auto runtime = current_runtime();
  CopyBatch copies(mesh.local_positions().size());
  auto arrays = map_structure<Array>(
      [&](const LeafPath& path, const auto& leaf, const PartitionSpec& spec) {
        using T = typename structure<std::remove_cvref_t<decltype(leaf)>>::element_type;
        return naming_leaf(path, [&] {
          NamedSharding sharding(mesh, spec);
          const auto layout = layout_from_local(sharding, leaf.shape());
          auto shards = allocate_shards<T>(*runtime, sharding, layout.global_shape);
          Box whole;
          for (const auto size : leaf.shape()) whole.push_back({0, size});
          for (std::size_t k = 0; k < shards.size(); ++k) {
            auto& buffer = *shards[k].buffer;
            copies.add(k, CopyBatch::Direction::in,
                       copy_of_box(sizeof(T), layout.boxes[k], leaf.data(), whole, buffer.data(),
                                   layout.boxes[k]),
                       buffer.memory());
          }
          return Array<T>(layout.global_shape, std::move(sharding), std::move(shards), runtime);
        });
      },
      host, specs);
  copies.run(*runtime, mesh);
  return arrays;
}

}  // namespace detail

/// Arrays over the mesh in scope from this process's arrays, under one spec for all leaves, or a
/// structure of specs (`Params<SpecOf>`) that goes with theirs.
///
/// A process's array holds the blocks of its own devices: under `P("data")` the rows of those, and
/// the global array has the rows of all processes. Where all devices are local it is the whole.
/// @throws StateError where no mesh is in scope; ArgumentError, naming the leaf, where a spec does
/// not fit the mesh or a size does not divide
/// @complexity one copy of the data; allocates the shards @collective no
template <ArrayStructure S>
rebind_t<S, Array> host_to_global_device_array(const S& host, const PartitionSpec& spec) {
  return detail::place(current_mesh(), host, spec);
}

/// The same with a structure of specs.
template <ArrayStructure S, ArrayStructure Specs>
rebind_t<S, Array> host_to_global_device_array(const S& host, const Specs& specs) {
  return detail::place(current_mesh(), host, specs);
}

/// The same with each device's rows its own (the default), or everything on each device.
/// @throws ArgumentError, naming the leaf, also for a scalar that should be split
template <ArrayStructure S>
rebind_t<S, Array> host_to_global_device_array(
    const S& host, DataPartitionType partition = DataPartitionType::full) {
  const Mesh& mesh = current_mesh();
  if (partition == DataPartitionType::replicated) return detail::place(mesh, host, PartitionSpec());
  for_each_leaf(
      [](const LeafPath& path, const auto& leaf) {
        if (leaf.shape().empty())
          throw ArgumentError(path.prefix() + "a scalar has no rows to split over the devices",
                              "place it with DataPartitionType::replicated, or P() as its spec");
      },
      host);
  return detail::place(mesh, host, every_device(mesh));
}

}  // namespace v0
}  // namespace loadax
