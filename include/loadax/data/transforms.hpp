// The chained form of the transforms: dataset.shuffle(7).map(f).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <loadax/core/shape.hpp>
#include <loadax/data/dataset.hpp>
#include <loadax/data/map.hpp>
#include <loadax/data/random_map.hpp>
#include <loadax/data/shuffle.hpp>
#include <loadax/data/slice.hpp>

namespace loadax {
inline namespace v0 {

/// Base of a dataset (`class Mine : public Transforms<Mine>`) that may be transformed. Each
/// transform is a new dataset that holds a copy of this one, so datasets should be cheap to copy.
/// Nothing is computed before a sample is asked for.
template <class Self>
class Transforms {
 public:
  /// f(sample) for each sample. Workers share f, so it must be callable as const.
  template <MapFunction<Self> F>
  auto map(F f) const& {
    return MapDataset<Self, F>(self(), std::move(f));
  }
  template <MapFunction<Self> F>
  auto map(F f) && {
    return MapDataset<Self, F>(std::move(*this).self(), std::move(f));
  }
  template <class F>
  Self map(F f) const
      __attribute__((unavailable("loadax: map's function must be callable as const with one "
                                 "sample, and return one (workers share it)")));

  /// f(sample, random) for each sample, where `random`, a CounterRandom&, is a sequence of the
  /// sample's own that depends on (seed, epoch, index) alone. Workers share f, so it must be
  /// callable as const.
  template <class F>
  auto random_map(std::uint64_t seed, F f) const& {
    return RandomMapDataset<Self, F>(self(), seed, std::move(f));
  }
  template <class F>
  auto random_map(std::uint64_t seed, F f) && {
    return RandomMapDataset<Self, F>(std::move(*this).self(), seed, std::move(f));
  }

  /// In random order, another one in each epoch; the order depends on (size, seed, epoch) alone.
  auto shuffle(std::uint64_t seed) const& { return ShuffleDataset<Self>(self(), seed); }
  auto shuffle(std::uint64_t seed) && {
    return ShuffleDataset<Self>(std::move(*this).self(), seed);
  }

  /// Samples [start, stop).
  /// @throws ArgumentError unless start <= stop <= size()
  auto slice(std::size_t start, std::size_t stop) const& {
    return SliceDataset<Self>(self(), Slice{start, stop});
  }
  auto slice(std::size_t start, std::size_t stop) && {
    return SliceDataset<Self>(std::move(*this).self(), Slice{start, stop});
  }

  /// The samples of one node: contiguous, disjoint between nodes, covering all; the first
  /// size() % world_size nodes have one more. Shuffle before the split, so that each node sees
  /// other samples in each epoch.
  /// @throws ArgumentError unless 0 <= rank < world_size
  auto split_dataset_by_node(const NodeSplit& split) const& {
    return SliceDataset<Self>(self(), node_slice(self().size(), split));
  }
  auto split_dataset_by_node(const NodeSplit& split) && {
    const Slice part = node_slice(self().size(), split);
    return SliceDataset<Self>(std::move(*this).self(), part);
  }

 private:
  const Self& self() const& noexcept { return static_cast<const Self&>(*this); }
  Self& self() & noexcept { return static_cast<Self&>(*this); }
  Self&& self() && noexcept { return static_cast<Self&&>(*this); }
};

}  // namespace v0
}  // namespace loadax
