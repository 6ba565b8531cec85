// Combining contributions element by element.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include <fmt/core.h>

#include <loadax/comm/communicator.hpp>
#include <loadax/core/element_type.hpp>
#include <loadax/core/error.hpp>

namespace loadax {
inline namespace v0 {

constexpr std::string_view name(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::product:
      return "product";
    case ReduceOp::min:
      return "min";
    case ReduceOp::max:
      return "max";
  }
  __builtin_unreachable();
}

namespace detail {

template <class T>
inline constexpr bool is_ordered = std::is_arithmetic_v<T> || is_float16<T>;
template <class T>
inline constexpr bool has_sum = !std::is_same_v<T, bool>;

/// What several T are added up in: numbers of 16 bits as float, to be rounded once.
template <class T>
using accumulator_t = std::conditional_t<is_float16<T>, float, T>;

/// The greater one, in JAX's and IEEE 754's (maximum) sense: not a number where one is not.
template <class T>
constexpr T greater_of(T a, T b) noexcept {
  return a > b || a != a ? a : b;
}
template <class T>
constexpr T lesser_of(T a, T b) noexcept {
  return a < b || a != a ? a : b;
}

}  // namespace detail

/// into[i] = into[i] op from[i]. Integers wrap; the minimum or maximum with NaN is NaN. `A` is T,
/// or what T is added up in.
/// @throws NotSupportedError for sums of bool and orders of complex numbers
template <class A, NamedElement T>
  requires std::same_as<A, T> || std::same_as<A, detail::accumulator_t<T>>
void combine(ReduceOp op, A* into, const T* from, std::size_t count) {
  const auto each = [&](auto f) {
    for (std::size_t i = 0; i < count; ++i)
      into[i] = static_cast<A>(f(into[i], static_cast<A>(from[i])));
  };
  if constexpr (detail::has_sum<T>) {
    using Wide = typename std::conditional_t<std::is_integral_v<A>, std::make_unsigned<A>,
                                             std::type_identity<A>>::type;
    // A product of small unsigned integers must not be computed in (signed) int.
    using Product =
        std::conditional_t<(std::is_integral_v<A> && sizeof(A) < sizeof(int)), unsigned, Wide>;
    if (op == ReduceOp::sum)
      return each([](A a, A b) { return static_cast<Wide>(a) + static_cast<Wide>(b); });
    if (op == ReduceOp::product)
      return each([](A a, A b) { return static_cast<Product>(a) * static_cast<Product>(b); });
  }
  if constexpr (detail::is_ordered<T>) {
    if (op == ReduceOp::min) return each([](A a, A b) { return detail::lesser_of(a, b); });
    if (op == ReduceOp::max) return each([](A a, A b) { return detail::greater_of(a, b); });
  }
  throw NotSupportedError(fmt::format("no {} of {} elements", name(op), name(element_type_of<T>)),
                          detail::is_ordered<T>
                              ? "use min or max (and, or), or convert to an integer type first"
                              : "reduce the real and imaginary parts as numbers of their own");
}

/// @throws NotSupportedError for sums of bool and orders of complex numbers
inline void check_reduction(ElementType type, ReduceOp op) {
  visit_element_type(type, [op]<class T>(T*) {
    combine(op, static_cast<T*>(nullptr), static_cast<const T*>(nullptr), 0);
  });
}

/// out[i] = x_0[i] op x_1[i] op ... op x_n-1[i], in this order, where `contribution(j)` points to
/// x_j. `out` may be one of them. Numbers of 16 bits are added up as floats and rounded once.
/// @pre n > 0
/// @throws NotSupportedError for sums of bool and orders of complex numbers
/// @complexity n * count; each contribution is read once, in tiles that stay in a core's own cache
template <NamedElement T, class Contribution>
void reduce_in_order(ReduceOp op, std::size_t n, Contribution&& contribution, T* out,
                     std::size_t count) {
  using A = detail::accumulator_t<T>;
  constexpr std::size_t tile = 8192 / sizeof(A);
  A total[tile];
  for (std::size_t at = 0; at < count; at += tile) {
    const std::size_t length = std::min(tile, count - at);
    std::copy_n(contribution(std::size_t{0}) + at, length, total);
    for (std::size_t j = 1; j < n; ++j) combine(op, total, contribution(j) + at, length);
    for (std::size_t i = 0; i < length; ++i) out[at + i] = static_cast<T>(total[i]);
  }
}

/// The same for a type known at run time, and contributions of any pointer type.
template <class Contribution>
void reduce_in_order(ElementType type, ReduceOp op, std::size_t n, Contribution&& contribution,
                     void* out, std::size_t count) {
  visit_element_type(type, [&]<class T>(T*) {
    const auto typed = [&](std::size_t j) { return static_cast<const T*>(contribution(j)); };
    reduce_in_order<T>(op, n, typed, static_cast<T*>(out), count);
  });
}

}  // namespace v0
}  // namespace loadax
