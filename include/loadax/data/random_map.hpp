// A dataset with a function applied to each sample that is given random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include <loadax/core/random.hpp>
#include <loadax/data/dataset.hpp>
#include <loadax/data/map.hpp>
#include <loadax/data/worker_activity.hpp>

namespace loadax {
inline namespace v0 {

/// `f(dataset[i], random)` for each i, computed when it is asked for. `random`, a CounterRandom, is
/// a sequence that depends on (seed, epoch, i) alone: never on workers, or on what else was loaded.
/// Cheap to copy: f is shared.
template <Dataset D, class F>
class RandomMapDataset : public Transforms<RandomMapDataset<D, F>> {
  static_assert(
      std::is_invocable_v<const F&, decltype(std::declval<const D&>()[0]), CounterRandom&>,
      "loadax: random_map's function must be callable as const with one example and a "
      "CounterRandom& (workers share it)");

 public:
  RandomMapDataset(D dataset, std::uint64_t seed, F f)
      : RandomMapDataset(std::move(dataset), seed, 0, detail::CheapCopy<F>(std::move(f))) {}
  RandomMapDataset(D dataset, std::uint64_t seed, std::uint64_t epoch, detail::CheapCopy<F> f)
      : dataset_(std::move(dataset)), seed_(seed), epoch_(epoch), f_(std::move(f)) {}

  std::size_t size() const { return dataset_.size(); }
  auto operator[](std::size_t i) const { return call(i, dataset_[i]); }

  auto for_epoch(std::uint64_t epoch) const {
    return RandomMapDataset<detail::epoch_view_t<D>, F>(detail::for_epoch(dataset_, epoch), seed_,
                                                        epoch, f_);
  }

  template <class Visitor>
  void visit(std::size_t first, std::size_t count, Visitor&& visitor) const {
    detail::visit(dataset_, first, count, [&](auto&& example) -> bool {
      return visitor(call(first++, std::forward<decltype(example)>(example)));
    });
  }

 private:
  template <class Example>
  auto call(std::size_t i, Example&& example) const {
    return detail::in_transform([&] {
      CounterRandom random(seed_, RandomStream::record, epoch_, i);
      return std::invoke(f_.get(), std::forward<Example>(example), random);
    });
  }

  D dataset_;
  std::uint64_t seed_, epoch_;
  detail::CheapCopy<F> f_;
};

}  // namespace v0
}  // namespace loadax
