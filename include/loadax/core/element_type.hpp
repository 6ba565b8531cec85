// The types that an array's elements may have, at compile time and at run time.
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <loadax/core/float16.hpp>

namespace loadax {
inline namespace v0 {

/// What an array may hold: anything that can be copied byte by byte.
template <class T>
concept Element = std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T> &&
                  !std::is_const_v<T> && !std::is_reference_v<T>;

/// The element types that engines know by name, for arithmetic in collectives and for files.
enum class ElementType : std::uint8_t {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128
};

namespace detail {

template <class T>
consteval int element_type_index() {
  if constexpr (std::same_as<T, bool>)
    return 0;
  else if constexpr (std::integral<T>) {
    int log = 0;
    while ((std::size_t{1} << log) < sizeof(T)) ++log;
    return (std::signed_integral<T> ? 1 : 5) + log;
  } else if constexpr (std::same_as<T, float16_t>)
    return 9;
  else if constexpr (std::same_as<T, bfloat16_t>)
    return 10;
  else if constexpr (std::same_as<T, float>)
    return 11;
  else if constexpr (std::same_as<T, double>)
    return 12;
  else if constexpr (std::same_as<T, std::complex<float>>)
    return 13;
  else if constexpr (std::same_as<T, std::complex<double>>)
    return 14;
  else
    return -1;
}

}  // namespace detail

/// An element that has an ElementType: bool, integers of 8 to 64 bits, float16_t, bfloat16_t,
/// float, double and their complex numbers.
template <class T>
concept NamedElement = Element<T> && detail::element_type_index<T>() >= 0;

template <NamedElement T>
inline constexpr ElementType element_type_of =
    static_cast<ElementType>(detail::element_type_index<T>());

/// Calls `f` with a null pointer to the C++ type of `type`, and returns what it returns.
template <class F>
constexpr decltype(auto) visit_element_type(ElementType type, F&& f) {
  switch (type) {
    case ElementType::boolean:
      return f(static_cast<bool*>(nullptr));
    case ElementType::int8:
      return f(static_cast<std::int8_t*>(nullptr));
    case ElementType::int16:
      return f(static_cast<std::int16_t*>(nullptr));
    case ElementType::int32:
      return f(static_cast<std::int32_t*>(nullptr));
    case ElementType::int64:
      return f(static_cast<std::int64_t*>(nullptr));
    case ElementType::uint8:
      return f(static_cast<std::uint8_t*>(nullptr));
    case ElementType::uint16:
      return f(static_cast<std::uint16_t*>(nullptr));
    case ElementType::uint32:
      return f(static_cast<std::uint32_t*>(nullptr));
    case ElementType::uint64:
      return f(static_cast<std::uint64_t*>(nullptr));
    case ElementType::float16:
      return f(static_cast<float16_t*>(nullptr));
    case ElementType::bfloat16:
      return f(static_cast<bfloat16_t*>(nullptr));
    case ElementType::float32:
      return f(static_cast<float*>(nullptr));
    case ElementType::float64:
      return f(static_cast<double*>(nullptr));
    case ElementType::complex64:
      return f(static_cast<std::complex<float>*>(nullptr));
    case ElementType::complex128:
      return f(static_cast<std::complex<double>*>(nullptr));
  }
  __builtin_unreachable();
}

/// Bytes of one element.
constexpr std::size_t element_size(ElementType type) noexcept {
  return visit_element_type(type, []<class T>(T*) { return sizeof(T); });
}

/// The type's name in NumPy's words: "float32", "bool", ...
constexpr std::string_view name(ElementType type) noexcept {
  constexpr std::string_view names[] = {
      "bool",   "int8",    "int16",    "int32",   "int64",   "uint8",     "uint16",    "uint32",
      "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};
  return names[static_cast<std::size_t>(type)];
}

}  // namespace v0
}  // namespace loadax
