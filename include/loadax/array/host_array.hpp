// An n-dimensional array of its own memory on the host.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include <fmt/core.h>

#include <loadax/array/structure.hpp>
#include <loadax/core/element_type.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/shape.hpp>

namespace loadax {
inline namespace v0 {

/// Alignment of array memory, in bytes: a cache line, and the widest vector register.
inline constexpr std::size_t array_alignment = 64;

/// Whether a range's values become elements of T as in braces, so that no value can change:
/// `static_cast` or std::transform say that it may.
template <class Range, class T>
concept range_of_values_without_narrowing = requires(const Range& values) {
  { *std::begin(values) } -> std::convertible_to<T>;
  T{*std::begin(values)};
  std::end(values);
};

/// A dense, row-major array with value semantics: a copy copies the elements.
/// Memory is aligned to `array_alignment` bytes.
template <class T>
class HostArray {
  static_assert(Element<T>, "loadax: an array element must be trivially copyable");

 public:
  using value_type = T;

  /// No elements: shape [0].
  HostArray() = default;

  /// Elements are zero.
  /// @throws ArgumentError where the element count overflows
  explicit HostArray(const Shape& shape) : HostArray(shape, Uninitialized{}) {
    if (size_ > 0) std::memset(static_cast<void*>(data()), 0, size_ * sizeof(T));
  }

  /// Elements are copied from `values`, row-major.
  /// @throws ArgumentError where there are more or fewer than the shape holds
  template <range_of_values_without_narrowing<T> Range>
  HostArray(const Shape& shape, const Range& values)
      : HostArray(checked_for(shape, values), Uninitialized{}) {
    std::copy(std::begin(values), std::end(values), data());
  }
  HostArray(const Shape& shape, std::initializer_list<T> values)
      : HostArray(shape, std::span<const T>(values.begin(), values.size())) {}

  /// Elements have no particular value: for memory that is about to be written whole.
  static HostArray uninitialized(const Shape& shape) { return HostArray(shape, Uninitialized{}); }

  HostArray(const HostArray& other) : HostArray(other.shape_, Uninitialized{}) {
    if (size_ > 0) std::memcpy(static_cast<void*>(data()), other.data(), size_ * sizeof(T));
  }
  HostArray(HostArray&& other) noexcept
      : shape_(std::exchange(other.shape_, Shape{0})),
        size_(std::exchange(other.size_, 0)),
        data_(std::move(other.data_)) {}
  HostArray& operator=(HostArray other) noexcept {
    std::swap(shape_, other.shape_);
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~HostArray() = default;

  const Shape& shape() const noexcept { return shape_; }
  std::size_t rank() const noexcept { return shape_.size(); }
  /// Number of elements.
  std::size_t size() const noexcept { return size_; }
  T* data() noexcept { return data_.get(); }
  const T* data() const noexcept { return data_.get(); }
  /// The elements, row-major.
  std::span<T> values() noexcept { return {data(), size_}; }
  std::span<const T> values() const noexcept { return {data(), size_}; }

  friend bool operator==(const HostArray& a, const HostArray& b) {
    return a.shape_ == b.shape_ && std::ranges::equal(a.values(), b.values());
  }

 private:
  struct Uninitialized {};
  struct Free {
    void operator()(T* p) const noexcept {
      ::operator delete(static_cast<void*>(p), std::align_val_t{array_alignment});
    }
  };

  /// `shape`, where it holds as many elements as there are values: before memory is asked for.
  template <class Range>
  static const Shape& checked_for(const Shape& shape, const Range& values) {
    const auto given =
        static_cast<std::size_t>(std::distance(std::begin(values), std::end(values)));
    const std::size_t size = element_count(shape);
    if (given != size)
      throw ArgumentError(fmt::format("HostArray: {} values for shape {}, which holds {}", given,
                                      bracketed(shape), size),
                          "give one value for each element, row by row");
    return shape;
  }

  HostArray(const Shape& shape, Uninitialized) : shape_(shape), size_(element_count(shape)) {
    if (size_ == 0) return;
    const std::size_t bytes = byte_count(shape, sizeof(T));
    data_.reset(static_cast<T*>(::operator new(bytes, std::align_val_t{array_alignment})));
  }

  Shape shape_{0};
  std::size_t size_ = 0;
  std::unique_ptr<T[], Free> data_;
};

template <class T>
struct structure<HostArray<T>> : leaf_structure<T> {};

}  // namespace v0
}  // namespace loadax
