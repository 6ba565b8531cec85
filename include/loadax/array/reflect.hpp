// The public fields of an aggregate, without macros: how many, references to them, their names.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace loadax {
inline namespace v0 {
namespace detail {

inline constexpr std::size_t max_fields = 16;

/// Converts to whatever a field is, but not to the aggregate itself.
template <class Self>
struct AnyField {
  template <class T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, Self>)
  constexpr operator T() const noexcept {
    __builtin_unreachable();  // only ever named, in unevaluated operands
  }
};

/// Whether T{{any}, {any}, ...} is well-formed. A braced clause initialises exactly one field, so
/// that C arrays and std::array do not take several clauses.
template <class T, std::size_t... I>
consteval bool takes_braced(std::index_sequence<I...>) {
  return requires { T{{(void(I), AnyField<T>{})}...}; };
}
template <class T, std::size_t... I>
consteval bool takes_plain(std::index_sequence<I...>) {
  return requires { T{(void(I), AnyField<T>{})...}; };
}

template <class T, std::size_t N>
consteval std::size_t most_braced() {
  if constexpr (N == 0 || takes_braced<T>(std::make_index_sequence<N>{})) {
    return N;
  } else {
    return most_braced<T, N - 1>();
  }
}
template <class T, std::size_t N>
consteval std::size_t most_plain() {
  if constexpr (N == 0 || takes_plain<T>(std::make_index_sequence<N>{})) {
    return N;
  } else {
    return most_plain<T, N - 1>();
  }
}

/// Of `Plain` initialisers, how many go to the field that begins with initialiser `Begin`: more
/// than one where it is a C array, which one brace fills.
template <class T, std::size_t Plain, std::size_t Begin, std::size_t After>
consteval std::size_t plain_taken_by_field() {
  constexpr bool fits = []<std::size_t... B, std::size_t... A>(std::index_sequence<B...>,
                                                               std::index_sequence<A...>) {
    return requires {
      T{(void(B), AnyField<T>{})..., {AnyField<T>{}}, (void(A), AnyField<T>{})...};
    };
  }(std::make_index_sequence<Begin>{}, std::make_index_sequence<After>{});
  if constexpr (fits) {
    return Plain - Begin - After;
  } else if constexpr (After == 0) {
    return 1;  // a class that one brace does not make
  } else {
    return plain_taken_by_field<T, Plain, Begin, After - 1>();
  }
}
template <class T, std::size_t Plain, std::size_t Begin = 0>
consteval std::size_t count_plain_fields() {
  if constexpr (Begin >= Plain) {
    return 0;
  } else {
    constexpr auto taken = plain_taken_by_field<T, Plain, Begin, Plain - Begin - 1>();
    return 1 + count_plain_fields<T, Plain, Begin + taken>();
  }
}

/// As many as take one braced initialiser each, or plain ones. Either may fall short: braces leave
/// a choice between constructors, plain ones between constructors and conversions.
template <class T>
consteval std::size_t count_initialised_fields() {
  constexpr std::size_t braced = most_braced<T, max_fields + 1>();
  constexpr std::size_t most = 4 * max_fields, plain = most_plain<T, most>();
  constexpr std::size_t counted = plain < most ? count_plain_fields<T, plain>() : 0;
  return braced > counted ? braced : counted;
}

/// As many as take an empty brace, which leaves nothing to choose between a field's constructors;
/// where a field has no default, as the above can tell.
template <class T>
consteval std::size_t count_fields() {
  // clang-format off
  if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 17;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 16;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 15;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 14;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 13;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 12;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{},{}}; }) return 11;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{},{}}; }) return 10;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{},{}}; }) return 9;
  else if constexpr (requires { T{{},{},{},{},{},{},{},{}}; }) return 8;
  else if constexpr (requires { T{{},{},{},{},{},{},{}}; }) return 7;
  else if constexpr (requires { T{{},{},{},{},{},{}}; }) return 6;
  else if constexpr (requires { T{{},{},{},{},{}}; }) return 5;
  else if constexpr (requires { T{{},{},{},{}}; }) return 4;
  else if constexpr (requires { T{{},{},{}}; }) return 3;
  else if constexpr (requires { T{{},{}}; }) return 2;
  else if constexpr (requires { T{{}}; }) return 1;
  else return count_initialised_fields<T>();
  // clang-format on
}

/// How many fields an aggregate has; max_fields + 1 stands for any larger number.
template <class T>
inline constexpr std::size_t field_count = count_fields<std::remove_cvref_t<T>>();

template <class T>
consteval bool is_nameless() {
  const std::string_view pretty = __PRETTY_FUNCTION__;
  return pretty.find("<unnamed ") != pretty.npos ||
         pretty.find("(anonymous union") != pretty.npos ||
         pretty.find("(unnamed union") != pretty.npos;
}

/// Converts to the base classes of Self, or to nameless unions.
template <class Self>
struct AnyBase {
  template <class T>
    requires(std::is_base_of_v<T, Self> && !std::is_same_v<T, Self>)
  operator T() const noexcept;
};
struct AnyNamelessUnion {
  template <class T>
    requires(std::is_union_v<T> && is_nameless<T>())
  operator T() const noexcept;
};
/// Converts to nothing, so that only a field that is constructible from anything takes it.
struct NoField {};

/// Whether T{..., Probe, ...}, with `Before` fields before it and `After` behind it, is well-formed
/// because of what Probe converts to.
template <class T, class Probe, std::size_t... Before, std::size_t... After>
consteval bool takes_at(std::index_sequence<Before...>, std::index_sequence<After...>) {
  constexpr auto takes = []<class P>(std::type_identity<P>) {
    return requires {
      T{{(void(Before), AnyField<T>{})}..., P{}, {(void(After), AnyField<T>{})}...};
    } || requires { T{(void(Before), AnyField<T>{})..., P{}, (void(After), AnyField<T>{})...}; };
  };
  return takes(std::type_identity<Probe>{}) && !takes(std::type_identity<NoField>{});
}

/// Whether any of T's fields is one of those that Probe converts to.
template <class T, class Probe>
inline constexpr bool takes_anywhere = []<std::size_t... I>(std::index_sequence<I...>) {
  return (takes_at<T, Probe>(std::make_index_sequence<I>{},
                             std::make_index_sequence<sizeof...(I) - 1 - I>{}) ||
          ...);
}(std::make_index_sequence<field_count<T>>{});

template <class T>
concept TupleLike = requires { std::tuple_size<T>::value; };

/// An aggregate whose initialisers are its fields: a base class takes one too, and a nameless union
/// takes one for several.
template <class T>
concept CountableFields = std::is_class_v<T> && std::is_aggregate_v<T> && !TupleLike<T> &&
                          field_count<T> >= 1 && field_count<T> <= max_fields &&
                          !takes_anywhere<T, AnyBase<T>> && !takes_anywhere<T, AnyNamelessUnion>;

/// A tuple of references to the fields, in order of declaration.
template <class T, std::size_t N = field_count<T>>
constexpr auto tie_fields(T& v) {
  // clang-format off
  if constexpr (N == 1) { auto& [a] = v; return std::tie(a); }
  else if constexpr (N == 2) { auto& [a, b] = v; return std::tie(a, b); }
  else if constexpr (N == 3) { auto& [a, b, c] = v; return std::tie(a, b, c); }
  else if constexpr (N == 4) { auto& [a, b, c, d] = v; return std::tie(a, b, c, d); }
  else if constexpr (N == 5) { auto& [a, b, c, d, e] = v; return std::tie(a, b, c, d, e); }
  else if constexpr (N == 6) { auto& [a, b, c, d, e, f] = v; return std::tie(a, b, c, d, e, f); }
  else if constexpr (N == 7) { auto& [a, b, c, d, e, f, g] = v; return std::tie(a, b, c, d, e, f, g); }
  else if constexpr (N == 8) { auto& [a, b, c, d, e, f, g, h] = v; return std::tie(a, b, c, d, e, f, g, h); }
  else if constexpr (N == 9) { auto& [a, b, c, d, e, f, g, h, i] = v; return std::tie(a, b, c, d, e, f, g, h, i); }
  else if constexpr (N == 10) { auto& [a, b, c, d, e, f, g, h, i, j] = v; return std::tie(a, b, c, d, e, f, g, h, i, j); }
  else if constexpr (N == 11) { auto& [a, b, c, d, e, f, g, h, i, j, k] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k); }
  else if constexpr (N == 12) { auto& [a, b, c, d, e, f, g, h, i, j, k, l] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l); }
  else if constexpr (N == 13) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m); }
  else if constexpr (N == 14) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n); }
  else if constexpr (N == 15) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o); }
  else if constexpr (N == 16) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p); }
  // clang-format on
}

/// Storage whose members have addresses, which name the fields, but are never read.
template <class T>
union Shadow {
  char none;
  T value;
  constexpr Shadow() : none{} {}
  constexpr ~Shadow() {}
};
template <class T>
inline Shadow<T> shadow{};

template <class Pointer>
struct FieldPointer {
  Pointer pointer;
};
template <class Pointer>
FieldPointer(Pointer) -> FieldPointer<Pointer>;

template <FieldPointer...>
struct FieldPointers {};

/// Whether each of T's fields is an object within it: a reference is none, a bit-field has no
/// address.
template <class T, std::size_t... I>
consteval bool has_addressable_fields(std::index_sequence<I...>) {
  // std::addressof, here and below: nvcc refuses `&`.
  return requires {
    FieldPointers<FieldPointer{
        std::addressof(std::get<I>(tie_fields<const T>(shadow<T>.value)))}...>{};
  };
}

/// An aggregate whose fields the library can read.
template <class T>
concept ReadableFields =
    CountableFields<T> && has_addressable_fields<T>(std::make_index_sequence<field_count<T>>{});

template <auto Pointer>
consteval std::string_view pretty_name() {
  return __PRETTY_FUNCTION__;
}

/// The last identifier before the last brace: compilers end with `... value.Type::name)}`.
consteval std::string_view last_identifier(std::string_view pretty) {
  const auto is_identifier = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::size_t end = pretty.rfind('}');
  while (end > 0 && !is_identifier(pretty[end - 1])) --end;
  std::size_t start = end;
  while (start > 0 && is_identifier(pretty[start - 1])) --start;
  return pretty.substr(start, end - start);
}

/// The name of field I of T.
template <class T, std::size_t I, std::size_t N = field_count<T>>
consteval std::string_view field_name() {
  constexpr auto pointer = std::addressof(std::get<I>(tie_fields<const T, N>(shadow<T>.value)));
  return last_identifier(pretty_name<FieldPointer{pointer}>());
}

}  // namespace detail
}  // namespace v0
}  // namespace loadax
