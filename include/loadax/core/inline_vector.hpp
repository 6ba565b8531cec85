// A vector that lives where it stands: no allocation, a fixed capacity.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include <loadax/core/error.hpp>

namespace loadax {
inline namespace v0 {

namespace detail {

/// An integer that counts: no truth value and no character.
template <class T>
concept Number = std::integral<T> && !(std::same_as<T, bool> || std::same_as<T, char> ||
                                       std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
                                       std::same_as<T, char16_t> || std::same_as<T, char32_t>);

/// Whether an element may be taken from a value of another range: the same type, or both integers.
template <class From, class T>
concept ElementFrom = std::same_as<From, T> || (Number<From> && Number<T>);

}  // namespace detail

/// A contiguous sequence of at most `Capacity` small trivially copyable values, stored in place.
/// @throws NotSupportedError from whatever would grow it beyond its capacity
template <class T, std::size_t Capacity>
  requires std::is_trivially_copyable_v<T>
class InlineVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  constexpr InlineVector() = default;
  constexpr InlineVector(std::initializer_list<T> values)
      : InlineVector(values.begin(), values.end()) {}
  /// @throws ArgumentError for an integer that T cannot hold
  template <std::input_iterator I, std::sentinel_for<I> S>
    requires detail::ElementFrom<std::iter_value_t<I>, T>
  constexpr InlineVector(I first, S last) {
    for (; first != last; ++first) push_back(element(*first));
  }
  /// From any range of T; of integers, from a range of any integers.
  /// @throws ArgumentError for an integer that T cannot hold
  template <class Range>
    requires(!std::same_as<Range, InlineVector> &&
             requires(const Range& range) {
               requires detail::ElementFrom<std::iter_value_t<decltype(std::begin(range))>, T>;
               std::end(range);
             })
  constexpr InlineVector(const Range& range)  // NOLINT(google-explicit-constructor)
      : InlineVector(std::begin(range), std::end(range)) {}

  /// `size` times the same value.
  static constexpr InlineVector filled(std::size_t size, const T& value) {
    InlineVector result;
    result.resize(size, value);
    return result;
  }

  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  static constexpr std::size_t capacity() noexcept { return Capacity; }
  constexpr T* data() noexcept { return values_.data(); }
  constexpr const T* data() const noexcept { return values_.data(); }
  constexpr T* begin() noexcept { return data(); }
  constexpr T* end() noexcept { return data() + size_; }
  constexpr const T* begin() const noexcept { return data(); }
  constexpr const T* end() const noexcept { return data() + size_; }
  constexpr T& operator[](std::size_t i) noexcept { return values_[i]; }
  constexpr const T& operator[](std::size_t i) const noexcept { return values_[i]; }
  constexpr T& back() noexcept { return values_[size_ - 1]; }
  constexpr const T& back() const noexcept { return values_[size_ - 1]; }

  constexpr void push_back(const T& value) {
    check(size_ + 1);
    values_[size_++] = value;
  }
  constexpr void pop_back() noexcept { --size_; }
  constexpr void clear() noexcept { size_ = 0; }
  constexpr void resize(std::size_t size, const T& value = T{}) {
    check(size);
    for (std::size_t i = size_; i < size; ++i) values_[i] = value;
    size_ = size;
  }

  friend constexpr bool operator==(const InlineVector& a, const InlineVector& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (!(a.values_[i] == b.values_[i])) return false;
    return true;
  }

 private:
  static constexpr void check(std::size_t size) {
    if (size > Capacity)
      throw NotSupportedError(fmt::format("{} values, where at most {} are held", size, Capacity),
                              "of dimensions or axes, merge those that always go together");
  }

  template <class From>
  static constexpr T element(const From& value) {
    if constexpr (!std::same_as<From, T> && detail::Number<T>) {
      if (!std::in_range<T>(value))
        throw ArgumentError(
            fmt::format("the value {} is not between {} and {}", value,
                        std::numeric_limits<T>::min(), std::numeric_limits<T>::max()),
            "sizes are not negative, and of no more bits than the element type");
    }
    return static_cast<T>(value);
  }

  std::array<T, Capacity> values_{};
  std::size_t size_ = 0;
};

}  // namespace v0
}  // namespace loadax
