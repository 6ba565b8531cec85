// One row of a batch's arrays, for a source that writes its samples in place.
#pragma once

#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <loadax/data/collate.hpp>
#include <loadax/data/dataset.hpp>
#include <loadax/data/example.hpp>
#include <loadax/data/field.hpp>

namespace loadax {
inline namespace v0 {

namespace detail {

template <class Example, std::size_t I>
using row_span_t = std::span<typename field<field_t<Example, I>>::element>;

template <class Example>
struct RowSpans {
  template <std::size_t... I>
  static auto make(std::index_sequence<I...>) -> std::tuple<row_span_t<Example, I>...>;
  using type = decltype(make(std::make_index_sequence<fields_of<Example>>{}));
};

}  // namespace detail

/// Where one sample goes: for each field the elements of its row, `row[&Example::image]` or
/// `row.get<0>()`. They have no particular values before.
template <class Example>
class RowView {
 public:
  using spans_type = typename detail::RowSpans<Example>::type;

  explicit RowView(const spans_type& spans) : spans_(spans) {}

  template <std::size_t I>
  detail::row_span_t<Example, I> get() const noexcept {
    return std::get<I>(spans_);
  }

  template <class M>
  std::span<typename field<M>::element> operator[](M Example::* member) const {
    const std::size_t index = detail::field_index_of(member);
    std::span<typename field<M>::element> found;
    detail::for_each_field<Example>([&](auto i) {
      if constexpr (std::is_same_v<detail::field_t<Example, i>, M>) {
        if (i == index) found = get<i>();
      }
    });
    return found;
  }

 private:
  spans_type spans_;
};

/// A dataset that writes a sample where it is to go: `read_into(i, row) const`, with a RowView of
/// its examples, whose types tell all shapes. Loaders use it in place of `operator[]` wherever a
/// row lies in one piece.
template <class D>
concept ReadsIntoRows = Dataset<D> && RowShapes<example_t<D>>::fixed &&
                        requires(const D& dataset, std::size_t i,
                                 const RowView<example_t<D>>& row) { dataset.read_into(i, row); };

}  // namespace v0
}  // namespace loadax
