// A dataset as it stands in one epoch, kept alive with whatever it refers to.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include <loadax/data/dataset.hpp>

namespace loadax {
inline namespace v0 {

/// Shared by those who load from it. It co-owns the dataset that it is a view of.
template <Dataset D>
using EpochView = std::shared_ptr<const detail::epoch_view_t<D>>;

/// The dataset itself where epochs make no difference, else `dataset->for_epoch(epoch)`.
template <Dataset D>
EpochView<D> make_epoch_view(std::shared_ptr<const D> dataset, std::uint64_t epoch) {
  if constexpr (EpochDependent<D>) {
    struct Owned {
      std::shared_ptr<const D> dataset;
      detail::epoch_view_t<D> view;
    };
    auto view = dataset->for_epoch(epoch);
    auto owned = std::make_shared<const Owned>(std::move(dataset), std::move(view));
    return EpochView<D>(owned, &owned->view);
  } else {
    return dataset;
  }
}

/// The views of a stream that runs through one epoch after the other: each is made once, by the
/// thread that first asks, and forgotten when two later ones have been. Thread-safe.
template <Dataset D>
class EpochViews {
 public:
  explicit EpochViews(std::shared_ptr<const D> dataset) : dataset_(std::move(dataset)) {}

  EpochView<D> at(std::uint64_t epoch) {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entries_[epoch % entries_.size()];
    if (!entry.view || entry.epoch != epoch) {
      entry.view = make_epoch_view(dataset_, epoch);
      entry.epoch = epoch;
    }
    return entry.view;
  }

 private:
  struct Entry {
    std::uint64_t epoch = 0;
    EpochView<D> view;
  };
  std::shared_ptr<const D> dataset_;
  std::mutex mutex_;
  std::array<Entry, 2> entries_;
};

}  // namespace v0
}  // namespace loadax
