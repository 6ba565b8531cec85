// What a dataset is: samples by index.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include <loadax/core/error.hpp>

namespace loadax {
inline namespace v0 {

/// Samples by index: `size()` and `operator[](std::size_t) const`, which several threads may call
/// at once. A dataset may have more:
///  - `for_epoch(std::uint64_t e) const`: the dataset as it stands in epoch e, cheap to copy. The
///    plain `operator[]` is that of epoch 0.
///  - `visit(first, count, f) const`: calls `f(example)` for samples first, first + 1, ..., at most
///    `count` and until it returns false. For datasets that know a faster way than one by one.
///  - `read_into(i, row) const`: writes sample i where it is to go, see data/row_view.hpp.
///  - `prefetch(i) const noexcept`: sample i is about to be read.
template <class D>
concept Dataset = requires(const D& dataset, std::size_t i) {
  { dataset.size() } -> std::convertible_to<std::size_t>;
  dataset[i];
  requires !std::is_void_v<decltype(dataset[i])>;
};

/// The type of a dataset's samples.
template <Dataset D>
using example_t = std::remove_cvref_t<decltype(std::declval<const D&>()[std::size_t{}])>;

/// A dataset that is another one in each epoch, shuffled for example.
template <class D>
concept EpochDependent = Dataset<D> && requires(const D& dataset, std::uint64_t epoch) {
  requires Dataset<std::remove_cvref_t<decltype(dataset.for_epoch(epoch))>>;
};

namespace detail {

/// The dataset as it stands in an epoch; itself where epochs make no difference.
template <Dataset D>
decltype(auto) for_epoch(const D& dataset, [[maybe_unused]] std::uint64_t epoch) {
  if constexpr (EpochDependent<D>) {
    return dataset.for_epoch(epoch);
  } else {
    return (dataset);
  }
}

template <Dataset D>
using epoch_view_t =
    std::remove_cvref_t<decltype(detail::for_epoch(std::declval<const D&>(), std::uint64_t{}))>;

/// Calls `f(example)` for samples first, first + 1, ..., at most `count` and until it returns
/// false.
template <Dataset D, class F>
void visit(const D& dataset, std::size_t first, std::size_t count, F&& f) {
  if constexpr (requires { dataset.visit(first, count, f); }) {
    dataset.visit(first, count, f);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      if (!f(dataset[first + i])) return;
    }
  }
}

template <Dataset D>
void prefetch([[maybe_unused]] const D& dataset, [[maybe_unused]] std::size_t i) noexcept {
  if constexpr (requires { dataset.prefetch(i); }) dataset.prefetch(i);
}

[[noreturn]] inline void throw_no_sample(std::string_view what, std::size_t i, std::size_t size) {
  throw IndexError(fmt::format("{}: sample {} of {}", what, i, size),
                   "samples are numbered from 0 to size() - 1");
}

/// @throws IndexError where samples first, ..., first + count - 1 do not all exist
inline void check_samples(std::string_view what, std::size_t first, std::size_t count,
                          std::size_t size) {
  if (first > size || count > size - first)
    throw_no_sample(what, first < size ? size : first, size);
}

}  // namespace detail

/// The chained form of the transforms; defined in data/transforms.hpp.
template <class Self>
class Transforms;

}  // namespace v0
}  // namespace loadax
