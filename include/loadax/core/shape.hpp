// Sizes of an array's dimensions, and a range along one of them.
#pragma once

#include <cstddef>
#include <string>

#include <fmt/core.h>

#include <loadax/core/checked.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/inline_vector.hpp>

namespace loadax {
inline namespace v0 {

/// The most dimensions that an array may have.
inline constexpr std::size_t max_rank = 8;

/// Sizes of the dimensions, outermost first (row-major). A scalar's shape is empty.
using Shape = InlineVector<std::size_t, max_rank>;

/// The elements [start, stop) of one dimension.
struct Slice {
  std::size_t start = 0, stop = 0;
  constexpr std::size_t size() const noexcept { return stop - start; }
  constexpr bool operator==(const Slice&) const = default;
};

/// One slice for each dimension: a box of an array.
using Box = InlineVector<Slice, max_rank>;

/// "[a, b, c]", as it stands in messages.
template <class Range>
std::string bracketed(const Range& values) {
  std::string text = "[";
  for (const auto& value : values) {
    if (text.size() > 1) text += ", ";
    text += fmt::format("{}", value);
  }
  return text + "]";
}

/// How many elements an array of this shape has.
/// @throws ArgumentError where the count does not fit in 64 bits
inline std::size_t element_count(const Shape& shape) {
  if (auto count = checked_product(shape)) return *count;
  throw ArgumentError(fmt::format("shape {} has more than 2^64 elements", bracketed(shape)),
                      "check the sizes for an overflow");
}

/// How many bytes an array of this shape has, with elements of `itemsize` bytes.
/// @throws ArgumentError where the count does not fit in 64 bits
inline std::size_t byte_count(const Shape& shape, std::size_t itemsize) {
  if (auto bytes = checked_multiply(element_count(shape), itemsize)) return *bytes;
  throw ArgumentError(fmt::format("shape {} of {}-byte elements has more than 2^64 bytes",
                                  bracketed(shape), itemsize),
                      "check the sizes for an overflow");
}

/// The shape of a box.
/// @throws ArgumentError for a slice that stops before it starts
inline Shape box_shape(const Box& box) {
  Shape shape;
  for (const auto& slice : box) {
    if (slice.stop < slice.start)
      throw ArgumentError(
          fmt::format("dimension {} of a box: [{}, {})", shape.size(), slice.start, slice.stop),
          "a slice stops where it starts, or behind that");
    shape.push_back(slice.size());
  }
  return shape;
}

}  // namespace v0
}  // namespace loadax
