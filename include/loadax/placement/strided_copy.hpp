// Copying a box of one array into a box of another.
#pragma once

#include <cstddef>
#include <cstring>

#include <loadax/core/inline_vector.hpp>
#include <loadax/core/shape.hpp>

namespace loadax {
inline namespace v0 {

/// Rows of contiguous bytes, repeated along at most max_rank outer dimensions: the form in which
/// every memory copies. Strides are in bytes, outermost first.
struct StridedCopy {
  struct Repeat {
    std::size_t count, from_stride, to_stride;
  };

  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::size_t row_bytes = 0;
  InlineVector<Repeat, max_rank> repeats;

  std::size_t bytes() const noexcept {
    std::size_t total = row_bytes;
    for (const auto& repeat : repeats) total *= repeat.count;
    return total;
  }
};

/// The copy of `box` from memory that holds `from_box` to memory that holds `to_box`, both dense
/// and row-major. All boxes are of one array whose elements have `itemsize` bytes.
/// @pre `box` lies in both @complexity O(rank), no allocation
inline StridedCopy copy_of_box(std::size_t itemsize, const Box& box, const void* from,
                               const Box& from_box, void* to, const Box& to_box) {
  StridedCopy copy{static_cast<const std::byte*>(from), static_cast<std::byte*>(to), itemsize, {}};
  InlineVector<StridedCopy::Repeat, max_rank> inner_first;
  std::size_t from_stride = itemsize, to_stride = itemsize, from_offset = 0, to_offset = 0;
  for (std::size_t d = box.size(); d-- > 0;) {
    const std::size_t count = box[d].size();
    from_offset += (box[d].start - from_box[d].start) * from_stride;
    to_offset += (box[d].start - to_box[d].start) * to_stride;
    if (inner_first.empty() && from_stride == copy.row_bytes && to_stride == copy.row_bytes) {
      copy.row_bytes *= count;
    } else if (count != 1) {
      inner_first.push_back({count, from_stride, to_stride});
    }
    from_stride *= from_box[d].size();
    to_stride *= to_box[d].size();
  }
  // An array without elements has no memory.
  if (copy.from != nullptr) copy.from += from_offset;
  if (copy.to != nullptr) copy.to += to_offset;
  while (!inner_first.empty()) {
    copy.repeats.push_back(inner_first.back());
    inner_first.pop_back();
  }
  return copy;
}

namespace detail {

inline void copy_rows(const StridedCopy& copy, std::size_t depth, const std::byte* from,
                      std::byte* to) {
  if (depth == copy.repeats.size()) {
    std::memcpy(to, from, copy.row_bytes);
    return;
  }
  const auto& repeat = copy.repeats[depth];
  for (std::size_t i = 0; i < repeat.count; ++i)
    copy_rows(copy, depth + 1, from + i * repeat.from_stride, to + i * repeat.to_stride);
}

}  // namespace detail

/// Runs a copy between memories that the processor reads and writes directly.
inline void run_on_host(const StridedCopy& copy) {
  if (copy.bytes() > 0) detail::copy_rows(copy, 0, copy.from, copy.to);
}

}  // namespace v0
}  // namespace loadax
