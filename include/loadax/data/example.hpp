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
consteval bool is_example() {
  if constexpr (Field<Example>) {
    return true;
  } else if constexpr (TupleLike<Example> || ReadableFields<Example>) {
    return fields_of<Example> > 0 && []<std::size_t... I>(std::index_sequence<I...>) {
      return (Field<field_t<Example, I>> && ...);
    }(std::make_index_sequence<fields_of<Example>>{});
  } else {
    return false;
  }
}

template <class Example>
inline constexpr bool all_fields_fixed = []<std::size_t... I>(std::index_sequence<I...>) {
  return (FixedField<field_t<Example, I>> && ...);
}(std::make_index_sequence<fields_of<Example>>{});

}  // namespace detail

/// A type that may be a sample: a field, or a tuple, pair or aggregate of fields. An aggregate has
/// 1 to 16 public fields, and no base class, reference, bit-field or nameless union.
template <class E>
concept ExampleType = detail::is_example<E>();

namespace detail {

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

template <class Example, class Member>
inline constexpr bool is_member_of = false;
template <class Example, class M>
  requires std::is_object_v<M>
inline constexpr bool is_member_of<Example, M Example::*> = true;

/// Which field a member pointer means, at compile time.
template <auto Member, class Example>
consteval std::size_t field_index() {
  std::size_t index = 0;
  constexpr auto fields = detail::tie_example(shadow<Example>.value);
  for_each_field<Example>([&](auto i) {
    if (static_cast<const void*>(&std::get<i>(fields)) ==
        static_cast<const void*>(&(shadow<Example>.value.*Member)))
      index = i;
  });
  return index;
}

/// The same at run time.
template <class Example, class M>
std::size_t field_index_of(M Example::* member) {
  const Example& example = shadow<Example>.value;
  const auto fields = detail::tie_example(example);
  std::size_t index = fields_of<Example>;
  for_each_field<Example>([&](auto i) {
    if constexpr (std::is_same_v<field_t<Example, i>, std::remove_cv_t<M>>) {
      if (&std::get<i>(fields) == &(example.*member)) index = i;
    }
  });
  return index;
}

}  // namespace detail

}  // namespace v0
}  // namespace loadax
