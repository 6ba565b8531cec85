// Moving arrays from one sharding to another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/array/structure.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/mesh/scope.hpp>
#include <loadax/placement/array.hpp>
#include <loadax/placement/copy_batch.hpp>
#include <loadax/placement/specs.hpp>
#include <loadax/sharding/named_sharding.hpp>
#include <loadax/sharding/partition_spec.hpp>
#include <loadax/sharding/reshard_plan.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

/// Where each local shard of a mesh stands among the shards: position -> k.
inline std::size_t local_number(const Mesh& mesh, std::size_t position) {
  const auto positions = mesh.local_positions();
  return static_cast<std::size_t>(std::ranges::lower_bound(positions, position) -
                                  positions.begin());
}

template <class T>
Array<T> reshard(const Array<T>& array, NamedSharding to, CopyBatch& copies) {
  if (array.sharding() == to) return array;
  const auto plan = plan_reshard(array.sharding(), to, array.shape(), sizeof(T));
  if (plan.moves_nothing()) return array.with_sharding(std::move(to));
  if (!plan.from().is_fully_addressable())
    throw NotSupportedError(
        fmt::format("resharding from {} to {} moves data between processes",
                    to_string(plan.from().spec()), to_string(to.spec())),
        "place the data in the sharding that the step wants, or use a mesh of one process");
  auto& runtime = *array.runtime();
  auto shards = allocate_shards<T>(runtime, to, array.shape());
  const auto old_shards = array.addressable_shards();
  const auto positions = to.mesh().local_positions();
  for (std::size_t k = 0; k < shards.size(); ++k) {
    auto& target = *shards[k].buffer;
    for (const auto& [source, box] : plan.transfers_into(positions[k])) {
      const auto& old_shard = old_shards[local_number(array.mesh(), source)];
      copies.add(k, CopyBatch::Direction::between,
                 copy_of_box(sizeof(T), box, old_shard.data, old_shard.index, target.data(),
                             shards[k].index),
                 target.memory(), &old_shard.buffer->memory());
    }
  }
  return {array.shape(), std::move(to), std::move(shards), array.runtime()};
}

/// `specs`: one, or a structure, of specs over the mesh or of shardings made from them.
template <class S, class Specs>
S constrain(const Mesh& mesh, const S& arrays, const Specs& specs) {
  CopyBatch copies(mesh.local_positions().size());
  std::shared_ptr<Runtime> runtime;
  auto moved = map_structure<Array>(
      [&](const LeafPath& path, const auto& array, const auto& spec) {
        return naming_leaf(path, [&] {
          NamedSharding sharding = sharding_of(mesh, spec);
          sharding.check(array.shape());
          runtime = array.runtime();
          return reshard(array, std::move(sharding), copies);
        });
      },
      arrays, specs);
  if (runtime) copies.run(*runtime, mesh);
  return moved;
}

}  // namespace detail

/// The arrays under another sharding of the same devices, moved at once. A leaf that already lies
/// so keeps its buffers; each other target shard is read once, from the nearest holders.
/// @throws ArgumentError, naming the leaf, where the spec does not fit; NotSupportedError where
/// data would have to move between processes
/// @complexity one copy of what changes its layout @collective no
template <ArrayStructure S>
S with_sharding_constraint(const S& arrays, const NamedSharding& sharding) {
  return detail::constrain(sharding.mesh(), arrays, sharding.spec());
}

/// The same over the mesh in scope, with one spec or a structure of specs.
/// @throws StateError where no mesh is in scope
template <ArrayStructure S>
S with_sharding_constraint(const S& arrays, const PartitionSpec& spec) {
  return detail::constrain(current_mesh(), arrays, spec);
}
template <ArrayStructure S, ArrayStructure Specs>
S with_sharding_constraint(const S& arrays, const Specs& specs) {
  return detail::constrain(current_mesh(), arrays, specs);
}

}  // namespace v0
}  // namespace loadax
