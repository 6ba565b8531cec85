// Combining contributions element by element.
#pragma once

#include <algorithm>
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
inline constexpr bool is_ordered = std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool has_sum = !std::is_same_v<T, bool>;

}  // namespace detail

/// into[i] = into[i] op from[i]. Integers wrap.
/// @throws NotSupportedError for sums of bool and orders of complex numbers
template <NamedElement T>
void combine(ReduceOp op, T* into, const T* from, std::size_t count) {
  const auto each = [&](auto f) {
    for (std::size_t i = 0; i < count; ++i) into[i] = f(into[i], from[i]);
  };
  if constexpr (detail::has_sum<T>) {
    using Wide = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                             std::type_identity<T>>::type;
    // A product of small unsigned integers must not be computed in (signed) int.
    using Product =
        std::conditional_t<(std::is_integral_v<T> && sizeof(T) < sizeof(int)), unsigned, Wide>;
    if (op == ReduceOp::sum)
      return each(
          [](T a, T b) { return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b)); });
    if (op == ReduceOp::product)
      return each([](T a, T b) {
        return static_cast<T>(static_cast<Product>(a) * static_cast<Product>(b));
      });
  }
  if constexpr (detail::is_ordered<T>) {
    if (op == ReduceOp::min) return each([](T a, T b) { return std::min(a, b); });
    if (op == ReduceOp::max) return each([](T a, T b) { return std::max(a, b); });
  }
  throw NotSupportedError(fmt::format("no {} of {} elements", name(op), name(element_type_of<T>)),
                          detail::is_ordered<T>
                              ? "use min or max (and, or), or convert to an integer type first"
                              : "reduce the real and imaginary parts as numbers of their own");
}

/// The same for a type known at run time.
inline void combine(ElementType type, ReduceOp op, void* into, const void* from,
                    std::size_t count) {
  visit_element_type(type, [&]<class T>(T*) {
    combine(op, static_cast<T*>(into), static_cast<const T*>(from), count);
  });
}

}  // namespace v0
}  // namespace loadax
