// What one field of an example becomes in a batch.
#pragma once

#include <array>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include <loadax/array/host_array.hpp>
#include <loadax/core/element_type.hpp>
#include <loadax/core/shape.hpp>

namespace loadax {
inline namespace v0 {

/// What a field of type F becomes in a batch: one array of `element`s of shape [rows, ...].
/// Specialise it for a type of your own, with
///  - `element`: the array's element type;
///  - `shape()` where the type tells the shape of one row, else `shape(const F&)`;
///  - `copy(const F&, element* to)`: writes one row.
template <class F>
struct field;

/// Base of the specialisation for a type that is one element, copied as its bytes:
/// `template <> struct loadax::field<Half> : loadax::scalar_field<Half> {};`
template <Element T>
struct scalar_field {
  using element = T;
  static constexpr Shape shape() { return {}; }
  static constexpr void copy(const T& from, T* to) { *to = from; }
};

/// A type that may be a field of an example.
template <class F>
concept Field = requires(const F& value, typename field<F>::element* to) {
  requires Element<typename field<F>::element>;
  field<F>::copy(value, to);
};

/// A field whose type tells the shape of a row.
template <class F>
concept FixedField = Field<F> && requires {
  { field<F>::shape() } -> std::convertible_to<Shape>;
};

template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
struct field<T> : scalar_field<T> {};

template <class T>
struct field<std::complex<T>> : scalar_field<std::complex<T>> {};

namespace detail {

/// How many elements a row of a field has.
template <FixedField F>
inline constexpr std::size_t row_size = *checked_product(field<F>::shape());

/// The shape of `size` fields of type T side by side.
template <FixedField T>
constexpr Shape stacked_shape(std::size_t size) {
  Shape shape{size};
  for (const std::size_t inner : field<T>::shape()) shape.push_back(inner);
  return shape;
}

/// Whether a field's row is its bytes: one element, or an array of such fields.
template <class T>
inline constexpr bool is_bytewise =
    requires { requires std::is_base_of_v<scalar_field<T>, field<T>>; };
template <class T, std::size_t N>
inline constexpr bool is_bytewise<std::array<T, N>> = is_bytewise<T>;
template <class T, std::size_t N>
inline constexpr bool is_bytewise<T[N]> = is_bytewise<T>;

/// Copies `size` fields of type T, at once where that is a copy of bytes.
template <FixedField T>
void copy_stacked(const T* from, std::size_t size, typename field<T>::element* to) {
  if constexpr (is_bytewise<T> && sizeof(T) == row_size<T> * sizeof(typename field<T>::element)) {
    if (size > 0) std::memcpy(to, from, size * sizeof(T));
  } else {
    for (std::size_t i = 0; i < size; ++i) field<T>::copy(from[i], to + i * row_size<T>);
  }
}

}  // namespace detail

template <FixedField T, std::size_t N>
struct field<std::array<T, N>> {
  using element = typename field<T>::element;
  static constexpr Shape shape() { return detail::stacked_shape<T>(N); }
  static void copy(const std::array<T, N>& from, element* to) {
    detail::copy_stacked(from.data(), N, to);
  }
};

template <FixedField T, std::size_t N>
struct field<T[N]> {
  using element = typename field<T>::element;
  static constexpr Shape shape() { return detail::stacked_shape<T>(N); }
  static void copy(const T (&from)[N], element* to) { detail::copy_stacked(from, N, to); }
};

template <FixedField T, class Allocator>
struct field<std::vector<T, Allocator>> {
  using element = typename field<T>::element;
  static Shape shape(const std::vector<T, Allocator>& value) {
    return detail::stacked_shape<T>(value.size());
  }
  static void copy(const std::vector<T, Allocator>& from, element* to) {
    if constexpr (requires { from.data(); }) {
      detail::copy_stacked(from.data(), from.size(), to);
    } else {  // bits
      for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i];
    }
  }
};

template <class T, std::size_t Extent>
  requires FixedField<std::remove_const_t<T>>
struct field<std::span<T, Extent>> {
  using Value = std::remove_const_t<T>;
  using element = typename field<Value>::element;
  static Shape shape(const std::span<T, Extent>& value) {
    return detail::stacked_shape<Value>(value.size());
  }
  static void copy(const std::span<T, Extent>& from, element* to) {
    detail::copy_stacked<Value>(from.data(), from.size(), to);
  }
};

template <class T>
struct field<HostArray<T>> {
  using element = T;
  static Shape shape(const HostArray<T>& value) { return value.shape(); }
  static void copy(const HostArray<T>& from, T* to) {
    if (from.size() > 0) std::memcpy(static_cast<void*>(to), from.data(), from.size() * sizeof(T));
  }
};

}  // namespace v0
}  // namespace loadax
