// What moves where when an array changes its sharding.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/checked.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/inline_vector.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/mesh/mesh.hpp>
#include <loadax/sharding/named_sharding.hpp>

namespace loadax {
inline namespace v0 {

/// A part of a target shard, and the device that it is read from.
struct BoxTransfer {
  /// Position in the mesh of the old sharding.
  std::size_t source;
  /// In coordinates of the whole array.
  Box box;
};

/// A plan, made without devices or data: each target shard is covered exactly once by boxes of
/// source shards, read from the device itself where it holds them, else from the replica that
/// stands where the reader stands along the axes that the old sharding does not use.
class ReshardPlan {
 public:
  /// @throws ArgumentError where a sharding does not divide the shape, elements have no bytes, the
  ///   array has more than 2^64, or the devices differ
  /// @complexity O(rank) for one mesh, else O(devices)
  ReshardPlan(NamedSharding from, NamedSharding to, const Shape& shape, std::size_t itemsize)
      : from_(std::move(from)), to_(std::move(to)), shape_(shape), itemsize_(itemsize) {
    if (itemsize_ == 0)
      throw ArgumentError(
          fmt::format("resharding the array {} of 0-byte elements", bracketed(shape)),
          "give the sizeof of the element type");
    (void)byte_count(shape_, itemsize_);
    source_block_ = from_.shard_shape(shape_);
    to_.check(shape_);
    check_devices();
    const auto& entries = from_.spec().entries();
    axes_.resize(shape_.size());
    for (std::size_t d = 0; d < entries.size(); ++d)
      for (const auto& axis : entries[d].names()) axes_[d].push_back(from_.mesh().axis(axis));
  }

  const NamedSharding& from() const noexcept { return from_; }
  const NamedSharding& to() const noexcept { return to_; }

  /// Whether every shard stays where it is. O(1) for one mesh, else O(devices)
  bool moves_nothing() const { return from_.is_equivalent_to(to_, shape_.size()); }

  /// The transfers that fill the shard at a position of the new sharding's mesh.
  /// O(transfers x rank)
  std::vector<BoxTransfer> transfers_into(std::size_t target) const {
    const Box wanted = to_.index_at(target, shape_);
    std::vector<BoxTransfer> transfers;
    for (const auto& slice : wanted)
      if (slice.size() == 0) return transfers;
    const std::size_t reader = from_.mesh().position(to_.mesh().devices()[target]);
    Shape first, last;
    for (std::size_t d = 0; d < wanted.size(); ++d) {
      first.push_back(wanted[d].start / source_block_[d]);
      last.push_back((wanted[d].stop - 1) / source_block_[d]);
    }
    for (Shape block = first;;) {
      transfers.push_back({holder(block, reader), overlap(block, wanted)});
      std::size_t d = block.size();
      while (d > 0 && block[d - 1] == last[d - 1]) {
        block[d - 1] = first[d - 1];
        --d;
      }
      if (d == 0) return transfers;
      ++block[d - 1];
    }
  }

  /// Bytes that devices read from other devices, in all. O(devices x transfers)
  /// @throws ArgumentError where they are more than 2^64
  std::uint64_t bytes_moved() const {
    if (moves_nothing()) return 0;
    std::uint64_t bytes = 0;
    for (std::size_t target = 0; target < to_.mesh().size(); ++target) {
      const auto reader = to_.mesh().devices()[target].id;
      for (const auto& transfer : transfers_into(target))
        if (from_.mesh().devices()[transfer.source].id != reader)
          bytes = add(bytes, byte_count(box_shape(transfer.box), itemsize_));
    }
    return bytes;
  }

 private:
  std::uint64_t add(std::uint64_t bytes, std::uint64_t more) const {
    if (const auto sum = checked_add(bytes, more)) return *sum;
    throw ArgumentError(
        fmt::format("resharding the array {} from {} to {} moves more than 2^64 bytes",
                    bracketed(shape_), to_string(from_.spec()), to_string(to_.spec())),
        "plan it for fewer devices or a smaller array");
  }

  void check_devices() const {
    const Mesh& old_mesh = from_.mesh();
    const Mesh& new_mesh = to_.mesh();
    if (old_mesh == new_mesh) return;
    if (old_mesh.size() != new_mesh.size())
      throw ArgumentError(
          fmt::format("resharding between different devices: a mesh of {} and a mesh of {}",
                      old_mesh.size(), new_mesh.size()),
          "the new mesh must have the old one's devices, in any order");
    for (const Device& device : new_mesh.devices())
      if (!old_mesh.contains(device))
        throw ArgumentError(
            fmt::format("resharding between different devices: device {} is not in the old mesh",
                        device.id),
            "the new mesh must have the old one's devices, in any order");
  }

  /// The position of the device that a block is read from.
  std::size_t holder(const Shape& block, std::size_t reader) const {
    const Mesh& mesh = from_.mesh();
    InlineVector<std::int64_t, max_rank> at;
    for (std::size_t axis = 0; axis < mesh.rank(); ++axis)
      at.push_back(mesh.coordinate(reader, axis));
    for (std::size_t d = 0; d < block.size(); ++d) {
      auto rest = static_cast<std::int64_t>(block[d]);
      for (std::size_t k = axes_[d].size(); k-- > 0;) {
        const auto size = mesh.shape()[axes_[d][k]];
        at[axes_[d][k]] = rest % size;
        rest /= size;
      }
    }
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < mesh.rank(); ++axis)
      position = position * mesh.shape()[axis] + at[axis];
    return static_cast<std::size_t>(position);
  }

  Box overlap(const Shape& block, const Box& wanted) const {
    Box box;
    for (std::size_t d = 0; d < wanted.size(); ++d) {
      const std::size_t start = block[d] * source_block_[d];
      box.push_back(
          {std::max(start, wanted[d].start), std::min(start + source_block_[d], wanted[d].stop)});
    }
    return box;
  }

  NamedSharding from_, to_;
  Shape shape_, source_block_;
  std::size_t itemsize_;
  /// Per dimension, the mesh axes that split it, major first.
  std::vector<InlineVector<std::size_t, max_rank>> axes_;
};

/// The plan that takes an array of a shape and `itemsize` bytes an element from one sharding to
/// another.
/// @throws ArgumentError where a sharding does not divide the shape, elements have no bytes, the
/// array
///   has more than 2^64, or the devices differ
/// @complexity O(rank) for one mesh, else O(devices)
inline ReshardPlan plan_reshard(NamedSharding from, NamedSharding to, const Shape& shape,
                                std::size_t itemsize) {
  return {std::move(from), std::move(to), shape, itemsize};
}

}  // namespace v0
}  // namespace loadax
