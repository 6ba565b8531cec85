// The fields of an example: references, names, and which field a member pointer means.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include <loadax/array/reflect.hpp>
#include <loadax/data/field.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

template <class T>
concept TupleLike = requires { std::tuple_size<T>::value; };

/// References to the fields of an example: an aggregate, a tuple or a pair has several, anything
/// that is a field itself is the only one.
template <class Example>
constexpr auto tie_example(Example& example) {
  using E = std::remove_const_t<Example>;
  if constexpr (Field<E>) {
    return std::tie(example);
  } else if constexpr (TupleLike<E>) {
    return std::apply([](auto&... fields) { return std::tie(fields...); }, example);
  } else {
    static_assert(std::is_aggregate_v<E>,
                  "loadax: an example must be an aggregate, a tuple, or a single field; specialise "
                  "loadax::field<F> for a type of your own");
    return detail::tie_fields(example);
  }
}

template <class Example>
using fields_t = decltype(detail::tie_example(std::declval<const Example&>()));

template <class Example>
inline constexpr std::size_t fields_of = std::tuple_size_v<fields_t<Example>>;

/// The type of field I.
template <class Example, std::size_t I>
using field_t = std::remove_cvref_t<std::tuple_element_t<I, fields_t<Example>>>;

template <class Example>
inline constexpr bool all_fields_fit = []<std::size_t... I>(std::index_sequence<I...>) {
  return (Field<field_t<Example, I>> && ...);
}(std::make_index_sequence<fields_of<Example>>{});

template <class Example>
inline constexpr bool all_fields_fixed = []<std::size_t... I>(std::index_sequence<I...>) {
  return (FixedField<field_t<Example, I>> && ...);
}(std::make_index_sequence<fields_of<Example>>{});

/// Calls f(std::integral_constant<std::size_t, I>) for each field.
template <class Example, class F>
constexpr void for_each_field(F&& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f(std::integral_constant<std::size_t, I>{}), ...);
  }(std::make_index_sequence<fields_of<Example>>{});
}

/// Whether fields have names: those of an aggregate do.
template <class Example>
inline constexpr bool has_field_names = !Field<Example> && !TupleLike<Example>;

template <class Example, std::size_t I>
consteval std::string_view example_field_name() {
  return field_name<Example, I, field_count<Example>>();
}

/// "image" or "0", as in messages.
template <class Example, std::size_t I>
std::string field_text() {
  if constexpr (has_field_names<Example>) {
    static constexpr auto text = example_field_name<Example, I>();
    return std::string(text);
  } else {
    return fmt::format("{}", I);
  }
}

template <class Example, class M, class E>
consteval bool is_member_of(M E::*) {
  return std::is_same_v<Example, E>;
}

/// Which field a member pointer means, at compile time.
template <auto Member, class Example>
consteval std::size_t field_index() {
  constexpr bool is_of_example = is_member_of<Example>(Member);
  static_assert(
      is_of_example,
      "loadax: this is a member of another type: write get<&Example::field>(batch), where "
      "Example is the type of the batch's samples");
  std::size_t index = 0;
  if constexpr (is_of_example) {
    constexpr auto fields = detail::tie_example(shadow<Example>.value);
    for_each_field<Example>([&](auto i) {
      if (static_cast<const void*>(&std::get<i>(fields)) ==
          static_cast<const void*>(&(shadow<Example>.value.*Member)))
        index = i;
    });
  }
  return index;
}

/// The same at run time.
template <class Example, class M>
std::size_t field_index_of(M Example::* member) {
  const Example& example = shadow<Example>.value;
  const auto fields = detail::tie_example(example);
  std::size_t index = fields_of<Example>;
  for_each_field<Example>([&](auto i) {
    if constexpr (std::is_same_v<field_t<Example, i>, M>) {
      if (&std::get<i>(fields) == &(example.*member)) index = i;
    }
  });
  return index;
}

}  // namespace detail

/// A type that may be a sample: a field, or an aggregate, tuple or pair of at most 16 fields.
template <class E>
concept ExampleType = detail::all_fields_fit<E>;

}  // namespace v0
}  // namespace loadax
