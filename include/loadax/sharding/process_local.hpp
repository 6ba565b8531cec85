// Which part of a global array one process has, as an array of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/core/inline_vector.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/mesh/mesh.hpp>
#include <loadax/sharding/named_sharding.hpp>

namespace loadax {
inline namespace v0 {

/// A process's local array holds, in each dimension, the blocks that its devices have, in
/// ascending order and each once.
struct ProcessLocalLayout {
  Shape global_shape;
  Shape local_shape;
  /// For each of `mesh.local_positions()`: where its shard lies in the local array.
  std::vector<Box> boxes;
};

namespace detail {

/// The blocks of one dimension that a process's devices have, ascending.
using BlockSet = std::vector<std::size_t>;

/// Block numbers, per dimension, of the shard at a position.
class BlockNumbers {
 public:
  BlockNumbers(const NamedSharding& sharding, std::size_t rank) : sharding_(sharding) {
    for (std::size_t d = 0; d < rank; ++d) blocks_.push_back(sharding.factor(d));
  }
  Box at(std::size_t position) const { return sharding_.index_at(position, blocks_); }
  const Shape& blocks() const { return blocks_; }

 private:
  const NamedSharding& sharding_;
  Shape blocks_;
};

inline void insert_block(BlockSet& set, std::size_t block) {
  const auto at = std::ranges::lower_bound(set, block);
  if (at == set.end() || *at != block) set.insert(at, block);
}

/// The blocks of this process, per dimension.
/// @throws StateError where it has no device; NotSupportedError where its blocks are no box
inline std::vector<BlockSet> local_blocks(const NamedSharding& sharding, std::size_t rank) {
  const auto positions = sharding.mesh().local_positions();
  if (positions.empty())
    throw StateError(
        fmt::format("process {} has no device in the mesh", sharding.mesh().process_index()),
        "only processes with devices in the mesh have a part of its arrays");
  const BlockNumbers numbers(sharding, rank);
  std::vector<BlockSet> sets(rank);
  std::vector<std::vector<std::size_t>> distinct;
  for (const auto position : positions) {
    const Box blocks = numbers.at(position);
    std::vector<std::size_t> key;
    for (std::size_t d = 0; d < rank; ++d) {
      insert_block(sets[d], blocks[d].start);
      key.push_back(blocks[d].start);
    }
    distinct.push_back(std::move(key));
  }
  std::ranges::sort(distinct);
  const auto rest = std::ranges::unique(distinct);
  std::size_t box = 1;
  for (const auto& set : sets) box *= set.size();
  const auto count = distinct.size() - rest.size();
  if (count != box)
    throw NotSupportedError(
        fmt::format("process {} has {} blocks that do not fill a box ({} would)",
                    sharding.mesh().process_index(), count, box),
        "order the mesh so that each process has a contiguous part of every split dimension");
  return sets;
}

/// That the shape of the global array follows from one process's part: the processes' sets of
/// blocks are pairwise equal or disjoint, and equal in number.
inline void check_determined(const NamedSharding& sharding, std::size_t rank) {
  const Mesh& mesh = sharding.mesh();
  if (mesh.local_positions().size() == mesh.size()) return;
  const BlockNumbers numbers(sharding, rank);
  std::map<int, std::vector<BlockSet>> processes;
  for (std::size_t position = 0; position < mesh.size(); ++position) {
    auto& sets = processes[mesh.devices()[position].process_index];
    sets.resize(rank);
    const Box blocks = numbers.at(position);
    for (std::size_t d = 0; d < rank; ++d) insert_block(sets[d], blocks[d].start);
  }
  for (std::size_t d = 0; d < rank; ++d) {
    std::map<std::size_t, int> owner;
    for (const auto& [process, sets] : processes) {
      const auto& [first, first_sets] = *processes.begin();
      const bool same_size = sets[d].size() == first_sets[d].size();
      int other = same_size ? process : first;
      for (const auto block : sets[d]) {
        const auto found = owner.try_emplace(block, process).first->second;
        if (found != process && processes.at(found)[d] != sets[d]) other = found;
      }
      if (other != process)
        throw ArgumentError(
            fmt::format("the global size of dimension {} does not follow from the local one: "
                        "process {} has {} of its {} blocks, process {} has {}, and they are not "
                        "equal or disjoint sets of the same size",
                        d, process, sets[d].size(), numbers.blocks()[d], other,
                        processes.at(other)[d].size()),
            "order the mesh so that each process has whole, equal blocks");
    }
  }
}

inline ProcessLocalLayout lay_out_blocks(const NamedSharding& sharding, const Shape& block_shape,
                                         const std::vector<BlockSet>& sets) {
  ProcessLocalLayout layout;
  const std::size_t rank = block_shape.size();
  const BlockNumbers numbers(sharding, rank);
  for (std::size_t d = 0; d < rank; ++d) {
    const auto global = checked_multiply(block_shape[d], numbers.blocks()[d]);
    if (!global)
      throw ArgumentError(fmt::format("dimension {}: {} blocks of {} have more than 2^64 elements",
                                      d, numbers.blocks()[d], block_shape[d]),
                          "check the sizes for an overflow");
    layout.global_shape.push_back(*global);
    layout.local_shape.push_back(block_shape[d] * sets[d].size());
  }
  for (const auto position : sharding.mesh().local_positions()) {
    const Box blocks = numbers.at(position);
    Box box;
    for (std::size_t d = 0; d < rank; ++d) {
      const auto at = std::ranges::lower_bound(sets[d], blocks[d].start) - sets[d].begin();
      const std::size_t start = static_cast<std::size_t>(at) * block_shape[d];
      box.push_back({start, start + block_shape[d]});
    }
    layout.boxes.push_back(box);
  }
  return layout;
}

}  // namespace detail

/// How process-local data of a shape becomes a global array: in each dimension, the global size is
/// the local one over the process's number of blocks, times the number of all blocks.
/// @throws ArgumentError where the spec has more entries than the shape has dimensions, the local
///   size does not divide, or the processes' blocks differ so that the global shape does not follow
/// @throws NotSupportedError where the process's shards are no box
/// @throws StateError where the process has no device in the mesh
/// @complexity O(n log n x rank) for n devices; n are the local ones where each device has rows of
///   its own, or one process drives all
inline ProcessLocalLayout layout_from_local(const NamedSharding& sharding,
                                            const Shape& local_shape) {
  sharding.check_rank(local_shape);
  // Rows that are unique on each device are divided alike even where processes have unequal
  // numbers of devices: a device's share is the same everywhere.
  const bool one_block_a_device =
      !local_shape.empty() && sharding.factor(0) == sharding.mesh().size();
  if (!one_block_a_device) detail::check_determined(sharding, local_shape.size());
  const auto sets = detail::local_blocks(sharding, local_shape.size());
  Shape block_shape;
  for (std::size_t d = 0; d < local_shape.size(); ++d) {
    if (local_shape[d] % sets[d].size() != 0)
      throw ArgumentError(
          fmt::format("dimension {} of size {} does not divide into the {} blocks that the devices "
                      "of process {} hold of it",
                      d, local_shape[d], sets[d].size(), sharding.mesh().process_index()),
          fmt::format("give a multiple of {}: drop or pad the tail", sets[d].size()));
    block_shape.push_back(local_shape[d] / sets[d].size());
  }
  return detail::lay_out_blocks(sharding, block_shape, sets);
}

/// What this process has of a global array.
/// @throws ArgumentError where the sharding does not divide the shape
/// @throws NotSupportedError where the process's shards are no box
/// @throws StateError where the process has no device in the mesh
/// @complexity O(n log n x rank) for n local devices
inline ProcessLocalLayout layout_from_global(const NamedSharding& sharding,
                                             const Shape& global_shape) {
  const Shape block_shape = sharding.shard_shape(global_shape);
  return detail::lay_out_blocks(sharding, block_shape,
                                detail::local_blocks(sharding, global_shape.size()));
}

}  // namespace v0
}  // namespace loadax
