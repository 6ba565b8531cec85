// Writing samples into the rows of a batch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <fmt/core.h>

#include <loadax/array/host_array.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/data/example.hpp>

namespace loadax {
inline namespace v0 {

/// The shape that each field's rows have in one batch: known from the type, or from the batch's
/// first sample, which the others are compared with.
template <class Example>
class RowShapes {
 public:
  /// Whether the type tells all shapes.
  static constexpr bool fixed = detail::all_fields_fixed<Example>;

  RowShapes() {
    detail::for_each_field<Example>([&](auto i) {
      if constexpr (FixedField<detail::field_t<Example, i>>)
        set(i, field<detail::field_t<Example, i>>::shape());
    });
  }

  /// Those of one sample.
  RowShapes(const Example& example, std::uint64_t sample) : sample_(sample) {
    const auto fields = detail::tie_example(example);
    detail::for_each_field<Example>([&](auto i) { set(i, shape_of<i>(fields)); });
  }

  const Shape& operator[](std::size_t field) const noexcept { return shapes_[field]; }
  /// Elements of a row.
  std::size_t size(std::size_t field) const noexcept { return sizes_[field]; }
  /// Of `rows` rows.
  Shape batch_shape(std::size_t field, std::size_t rows) const {
    Shape shape{rows};
    for (const std::size_t inner : shapes_[field]) shape.push_back(inner);
    return shape;
  }

  /// @throws ArgumentError where the sample has another shape
  void check(const Example& example, std::uint64_t sample) const {
    if constexpr (!fixed) {
      const auto fields = detail::tie_example(example);
      detail::for_each_field<Example>([&](auto i) {
        if constexpr (!FixedField<detail::field_t<Example, i>>) {
          const Shape shape = shape_of<i>(fields);
          if (shape != shapes_[i])
            throw ArgumentError(
                fmt::format("sample {}: field '{}' has shape {}, that of sample {} in the same "
                            "batch has {}",
                            sample, detail::field_text<Example, i>(), bracketed(shape), sample_,
                            bracketed(shapes_[i])),
                "give all samples one shape, by padding or cropping them in a map()");
        }
      });
    }
  }

 private:
  template <std::size_t I>
  static Shape shape_of(const auto& fields) {
    using F = detail::field_t<Example, I>;
    if constexpr (FixedField<F>) {
      return field<F>::shape();
    } else {
      return field<F>::shape(std::get<I>(fields));
    }
  }
  void set(std::size_t i, const Shape& shape) {
    shapes_[i] = shape;
    sizes_[i] = element_count(shape);
  }

  std::array<Shape, detail::fields_of<Example>> shapes_;
  std::array<std::size_t, detail::fields_of<Example>> sizes_{};
  std::uint64_t sample_ = 0;
};

/// Copies each field of a sample to where `row(i)` says that row of field i begins, `i` an
/// std::integral_constant.
template <class Example, class Row>
void write_row(const Example& example, Row&& row) {
  const auto fields = detail::tie_example(example);
  detail::for_each_field<Example>(
      [&](auto i) { field<detail::field_t<Example, i>>::copy(std::get<i>(fields), row(i)); });
}

}  // namespace v0
}  // namespace loadax
