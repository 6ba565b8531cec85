// A dataset as it stands in one epoch, kept alive with whatever it refers to.
#pragma once

#include <cstdint>
#include <map>
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

/// The views of a stream that runs through one epoch after the other. Each is made once, by the
/// thread that first asks, as long as nobody asks for one that is `span` or more epochs behind the
/// latest: those are forgotten. Thread-safe.
template <Dataset D>
class EpochViews {
 public:
  explicit EpochViews(std::shared_ptr<const D> dataset, std::uint64_t span = 2)
      : dataset_(std::move(dataset)), span_(span) {}

  EpochView<D> at(std::uint64_t epoch) {
    const std::scoped_lock lock(mutex_);
    EpochView<D>& view = views_[epoch];
    if (!view) view = make_epoch_view(dataset_, epoch);
    const EpochView<D> result = view;
    while (views_.rbegin()->first - views_.begin()->first >= span_) views_.erase(views_.begin());
    return result;
  }

 private:
  std::shared_ptr<const D> dataset_;
  std::uint64_t span_;
  std::mutex mutex_;
  std::map<std::uint64_t, EpochView<D>> views_;
};

}  // namespace v0
}  // namespace loadax
