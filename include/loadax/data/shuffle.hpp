// A dataset in random order, another one in each epoch.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <loadax/core/index_permutation.hpp>
#include <loadax/data/dataset.hpp>

namespace loadax {
inline namespace v0 {

/// The samples in an order that is a pure function of (size, seed, epoch): see IndexPermutation.
/// @complexity O(1) memory, and O(1) for each epoch's view
template <class D>
class ShuffleDataset : public Transforms<ShuffleDataset<D>> {
  static_assert(Dataset<D>,
                "loadax: this is no dataset: give it `size() const` and `operator[](std::size_t) "
                "const`, which returns a sample");

 public:
  ShuffleDataset(D dataset, std::uint64_t seed, std::uint64_t epoch = 0)
      : dataset_(std::move(dataset)), seed_(seed), order_(dataset_.size(), seed, epoch) {}

  std::size_t size() const { return static_cast<std::size_t>(order_.size()); }
  decltype(auto) operator[](std::size_t i) const { return dataset_[source_index(i)]; }

  template <class Row>
  void read_into(std::size_t i, const Row& row) const
    requires requires(const D& dataset) { dataset.read_into(i, row); }
  {
    dataset_.read_into(source_index(i), row);
  }

  auto for_epoch(std::uint64_t epoch) const {
    return ShuffleDataset<detail::epoch_view_t<D>>(detail::for_epoch(dataset_, epoch), seed_,
                                                   epoch);
  }

  /// Computes the indices in bulk and prefetches the samples ahead of their use.
  template <class Visitor>
  void visit(std::size_t first, std::size_t count, Visitor&& visitor) const {
    std::array<std::uint64_t, 64> block;
    while (count > 0) {
      const std::size_t size = std::min(count, block.size());
      order_.copy(first, std::span(block).first(size));
      for (std::size_t i = 0; i < std::min(ahead, size); ++i) prefetch_at(block[i]);
      for (std::size_t i = 0; i < size; ++i) {
        if (i + ahead < size) prefetch_at(block[i + ahead]);
        if (!visitor(dataset_[static_cast<std::size_t>(block[i])])) return;
      }
      first += size;
      count -= size;
    }
  }

 private:
  /// How many samples ahead: about 2 KiB, at most 16 samples.
  static constexpr std::size_t ahead = std::clamp<std::size_t>(2048 / sizeof(example_t<D>), 1, 16);

  std::size_t source_index(std::size_t i) const { return static_cast<std::size_t>(order_(i)); }
  void prefetch_at(std::uint64_t i) const noexcept {
    detail::prefetch(dataset_, static_cast<std::size_t>(i));
  }

  D dataset_;
  std::uint64_t seed_;
  IndexPermutation order_;
};

}  // namespace v0
}  // namespace loadax
