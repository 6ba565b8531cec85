// Integer arithmetic that does not wrap.
#pragma once

#include <concepts>
#include <iterator>
#include <optional>
#include <type_traits>

namespace loadax {
inline namespace v0 {

/// a * b, or nothing where it does not fit. O(1).
template <std::integral T>
constexpr std::optional<T> checked_multiply(T a, T b) noexcept {
  T result{};
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// a + b, or nothing where it does not fit. O(1).
template <std::integral T>
constexpr std::optional<T> checked_add(T a, T b) noexcept {
  T result{};
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// The product of all values (1 for none), or nothing where it does not fit.
template <class Range>
constexpr auto checked_product(const Range& values) noexcept {
  using T = std::remove_cvref_t<decltype(*std::begin(values))>;
  std::optional<T> product = T{1};
  for (const T v : values) {
    if (v == 0) return std::optional<T>(T{0});
    if (product) product = checked_multiply(*product, v);
  }
  return product;
}

}  // namespace v0
}  // namespace loadax
