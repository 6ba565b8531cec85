// A dataset with a function applied to each sample.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <loadax/data/dataset.hpp>
#include <loadax/data/worker_activity.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

/// A constant whose copies are cheap: in place where it is a few bytes, else shared.
template <class T>
class CheapCopy {
 public:
  explicit CheapCopy(T value) : value_(make(std::move(value))) {}
  const T& get() const noexcept {
    if constexpr (in_place) {
      return value_;
    } else {
      return *value_;
    }
  }

 private:
  static constexpr bool in_place = std::is_trivially_copyable_v<T> && sizeof(T) <= 64;
  static auto make(T value) {
    if constexpr (in_place) {
      return value;
    } else {
      return std::make_shared<const T>(std::move(value));
    }
  }
  std::conditional_t<in_place, T, std::shared_ptr<const T>> value_;
};

}  // namespace detail

/// A function that makes a sample of each of D's. Workers share it, so it is called as const.
template <class F, class D>
concept MapFunction =
    std::invocable<const F&, decltype(std::declval<const D&>()[0])> &&
    !std::is_void_v<std::invoke_result_t<const F&, decltype(std::declval<const D&>()[0])>>;

/// `f(dataset[i])` for each i, computed when it is asked for. Cheap to copy: f is shared.
template <class D, class F>
class MapDataset : public Transforms<MapDataset<D, F>> {
  static_assert(Dataset<D>,
                "loadax: this is no dataset: give it `size() const` and `operator[](std::size_t) "
                "const`, which returns a sample");
  static_assert(MapFunction<F, D>,
                "loadax: map's function must be callable as const with one sample, and return one");

 public:
  MapDataset(D dataset, F f) : MapDataset(std::move(dataset), detail::CheapCopy<F>(std::move(f))) {}
  MapDataset(D dataset, detail::CheapCopy<F> f) : dataset_(std::move(dataset)), f_(std::move(f)) {}

  std::size_t size() const { return dataset_.size(); }
  auto operator[](std::size_t i) const { return call(dataset_[i]); }

  auto for_epoch(std::uint64_t epoch) const
    requires EpochDependent<D>
  {
    return MapDataset<detail::epoch_view_t<D>, F>(dataset_.for_epoch(epoch), f_);
  }

  template <class Visitor>
  void visit(std::size_t first, std::size_t count, Visitor&& visitor) const {
    detail::visit(dataset_, first, count, [&](auto&& example) -> bool {
      return visitor(call(std::forward<decltype(example)>(example)));
    });
  }

 private:
  template <class Example>
  auto call(Example&& example) const {
    return detail::in_transform(
        [&] { return std::invoke(f_.get(), std::forward<Example>(example)); });
  }

  D dataset_;
  detail::CheapCopy<F> f_;
};

}  // namespace v0
}  // namespace loadax
