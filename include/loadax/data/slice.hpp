// A contiguous part of a dataset, and the part of one node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/data/dataset.hpp>

namespace loadax {
inline namespace v0 {

/// Which of how many parts of a dataset: one for each node, or process, of a job.
struct NodeSplit {
  std::int64_t world_size = 1;
  std::int64_t rank = 0;
};

/// The samples of one node: contiguous parts that are disjoint and cover all; the first
/// size % world_size of them have one sample more.
/// @throws ArgumentError unless 0 <= rank < world_size
inline Slice node_slice(std::size_t size, const NodeSplit& split) {
  if (split.world_size < 1 || split.rank < 0 || split.rank >= split.world_size)
    throw ArgumentError(fmt::format("split_dataset_by_node: rank {} of world_size {}", split.rank,
                                    split.world_size),
                        "ranks run from 0 to world_size - 1");
  const auto world = static_cast<std::size_t>(split.world_size);
  const auto rank = static_cast<std::size_t>(split.rank);
  const std::size_t each = size / world, longer = size % world;
  const std::size_t start = rank * each + std::min(rank, longer);
  return {start, start + each + (rank < longer ? 1 : 0)};
}

/// Samples [start, stop) of a dataset.
template <class D>
class SliceDataset : public Transforms<SliceDataset<D>> {
  static_assert(Dataset<D>,
                "loadax: this is no dataset: give it `size() const` and `operator[](std::size_t) "
                "const`, which returns a sample");

 public:
  /// @throws ArgumentError unless start <= stop <= dataset.size()
  SliceDataset(D dataset, Slice part) : dataset_(std::move(dataset)), part_(part) {
    const std::size_t size = dataset_.size();
    if (part.start > part.stop || part.stop > size)
      throw ArgumentError(
          fmt::format("slice: samples [{}, {}) of a dataset of {}", part.start, part.stop, size),
          "give 0 <= start <= stop <= size()");
  }

  std::size_t size() const { return part_.size(); }
  decltype(auto) operator[](std::size_t i) const {
    if (i >= size()) detail::throw_no_sample("slice", i, size());
    return dataset_[part_.start + i];
  }

  auto for_epoch(std::uint64_t epoch) const
    requires EpochDependent<D>
  {
    return SliceDataset<detail::epoch_view_t<D>>(dataset_.for_epoch(epoch), part_);
  }

  template <class Visitor>
  void visit(std::size_t first, std::size_t count, Visitor&& visitor) const {
    detail::check_samples("slice", first, count, size());
    detail::visit(dataset_, part_.start + first, count, visitor);
  }

  template <class Row>
  void read_into(std::size_t i, const Row& row) const
    requires requires(const D& dataset) { dataset.read_into(i, row); }
  {
    if (i >= size()) detail::throw_no_sample("slice", i, size());
    dataset_.read_into(part_.start + i, row);
  }

  void prefetch(std::size_t i) const noexcept { detail::prefetch(dataset_, part_.start + i); }

 private:
  D dataset_;
  Slice part_;
};

}  // namespace v0
}  // namespace loadax
