// Structures of arrays: what may stand where one array may, and how its leaves are exchanged.
#pragma once

#include <concepts>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/array/leaf_path.hpp>
#include <loadax/array/reflect.hpp>
#include <loadax/core/error.hpp>

namespace loadax {
inline namespace v0 {

/// How the library takes a structure apart. A specialisation is one of
///  - a leaf: derives from leaf_structure<T>;
///  - a node with a fixed number of parts: `rebind<M>` (the same structure over leaf template M),
///    `children(s)` (a tuple of references), `child_path<I>(parent)`, `make<M>(part, indices)`
///    (builds it from `part(std::integral_constant<std::size_t, I>{})` for each index, in order);
///  - a node with a number of parts known at run time: `rebind<M>`, `for_children(visit, path, s,
///    others...)` and `append(result, path step, part)`.
template <class S>
struct structure;

/// An array, or a structure of arrays.
template <class S>
concept ArrayStructure = requires { sizeof(structure<std::remove_cvref_t<S>>); };

/// Base of the specialisation for a leaf with elements of type T.
template <class T>
struct leaf_structure {
  using element_type = T;
  template <template <class> class M>
  using rebind = M<T>;
};

/// A single array (or what stands for one: a view, a spec).
template <class S>
concept ArrayLeaf = requires { typename structure<std::remove_cvref_t<S>>::element_type; };

/// The same structure over another leaf template.
template <ArrayStructure S, template <class> class M>
using rebind_t = typename structure<std::remove_cvref_t<S>>::template rebind<M>;

/// An aggregate over a leaf template:
/// `template <template <class> class Leaf> struct Params { Leaf<float> w, b; };`
template <template <template <class> class> class S, template <class> class L>
  requires std::is_aggregate_v<S<L>>
struct structure<S<L>> {
  static constexpr std::size_t size = detail::field_count<S<L>>;
  template <template <class> class M>
  using rebind = S<M>;
  static constexpr auto children(auto& s) {
    static_assert(detail::ReadableFields<S<L>>,
                  "loadax: a structure must have 1 to 16 public fields, and no base class, "
                  "reference, bit-field or nameless union");
    return detail::tie_fields<std::remove_reference_t<decltype(s)>, size>(s);
  }
  template <std::size_t I>
  static LeafPath child_path(const LeafPath& parent) {
    static constexpr auto field = detail::field_name<S<L>, I, size>();
    return {parent, field};
  }
  template <template <class> class M, std::size_t... I>
  static S<M> make(auto&& part, std::index_sequence<I...>) {
    return S<M>{part(std::integral_constant<std::size_t, I>{})...};
  }
};

template <ArrayStructure... S>
struct structure<std::tuple<S...>> {
  template <template <class> class M>
  using rebind = std::tuple<rebind_t<S, M>...>;
  static constexpr auto children(auto& s) {
    return std::apply([](auto&... part) { return std::tie(part...); }, s);
  }
  template <std::size_t I>
  static LeafPath child_path(const LeafPath& parent) {
    return {parent, I};
  }
  template <template <class> class M, std::size_t... I>
  static rebind<M> make(auto&& part, std::index_sequence<I...>) {
    return rebind<M>{part(std::integral_constant<std::size_t, I>{})...};
  }
};

namespace detail {

template <class>
inline constexpr bool is_map = false;
template <class T>
inline constexpr bool is_map<std::map<std::string, T>> = true;
template <class>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

/// That a map's companion, where it is a map too, has no entries beyond the map's.
template <class S, class Other>
void check_entries(const S& s, const Other& other, const LeafPath& path) {
  if constexpr (is_map<Other>) {
    for (const auto& [key, part] : other)
      if (!s.contains(key))
        throw ArgumentError(
            fmt::format("{}an entry '{}' that the structure it goes with does not have",
                        path.prefix(), key),
            "give an entry for each key, or one value for the whole map");
  }
}

/// The part of a companion (specs, shardings) that goes with one part of a map. A companion that
/// is no structure itself, or a single leaf, goes with every part.
template <class Other>
auto& entry_of(Other& other, const std::string& key, const LeafPath& path) {
  if constexpr (is_map<std::remove_const_t<Other>>) {
    auto found = other.find(key);
    if (found == other.end())
      throw ArgumentError(
          fmt::format("{}no entry '{}' in the structure that goes with it", path.prefix(), key),
          "give an entry for each key, or one value for the whole map");
    return found->second;
  } else {
    static_assert(!ArrayStructure<Other> || ArrayLeaf<Other>,
                  "loadax: a map of arrays needs a map, or one value, beside it");
    return other;
  }
}

template <class Other>
auto& element_of(Other& other, std::size_t size, std::size_t i, const LeafPath& path) {
  if constexpr (is_vector<std::remove_const_t<Other>>) {
    if (other.size() != size)
      throw ArgumentError(fmt::format("{}{} elements, where the structure that goes with it has {}",
                                      path.prefix(), size, other.size()),
                          "give an element for each layer, or one value for the whole vector");
    return other[i];
  } else {
    static_assert(!ArrayStructure<Other> || ArrayLeaf<Other>,
                  "loadax: a vector of arrays needs a vector, or one value, beside it");
    return other;
  }
}

}  // namespace detail

template <ArrayStructure S>
struct structure<std::map<std::string, S>> {
  template <template <class> class M>
  using rebind = std::map<std::string, rebind_t<S, M>>;
  static void for_children(auto&& visit, const LeafPath& path, auto& s, auto&... others) {
    (detail::check_entries(s, others, path), ...);
    for (auto& [key, part] : s) {
      visit(LeafPath(path, key), key, part, detail::entry_of(others, key, path)...);
    }
  }
  static void append(auto& result, const std::string& key, auto&& part) {
    result.emplace(key, std::forward<decltype(part)>(part));
  }
};

/// Layers: a vector of structures. (A vector of numbers is no structure.)
template <ArrayStructure S>
struct structure<std::vector<S>> {
  template <template <class> class M>
  using rebind = std::vector<rebind_t<S, M>>;
  static void for_children(auto&& visit, const LeafPath& path, auto& s, auto&... others) {
    for (std::size_t i = 0; i < s.size(); ++i) {
      visit(LeafPath(path, i), i, s[i], detail::element_of(others, s.size(), i, path)...);
    }
  }
  static void append(auto& result, std::size_t, auto&& part) {
    result.push_back(std::forward<decltype(part)>(part));
  }
};

namespace detail {

template <class S>
concept FixedNode = requires(S& s) { structure<std::remove_cvref_t<S>>::children(s); };

/// A companion's part that goes with part I of a node of `Size` parts.
template <std::size_t I, std::size_t Size, class Other>
auto& part_of(Other& other) {
  if constexpr (FixedNode<Other>) {
    auto parts = structure<std::remove_cvref_t<Other>>::children(other);
    static_assert(std::tuple_size_v<decltype(parts)> == Size,
                  "loadax: structures that go together must have the same parts");
    return std::get<I>(parts);
  } else {
    static_assert(!ArrayStructure<Other> || ArrayLeaf<Other>,
                  "loadax: structures that go together must have the same parts");
    return other;
  }
}

template <template <class> class M, class F, class S, class... Other>
auto map_leaves(const LeafPath& path, F& f, S& s, Other&... others) -> rebind_t<S, M> {
  using Node = structure<std::remove_cvref_t<S>>;
  if constexpr (ArrayLeaf<S>) {
    static_assert(((!ArrayStructure<Other> || ArrayLeaf<Other>) && ...),
                  "loadax: structures that go together must have the same parts");
    return f(path, s, others...);
  } else if constexpr (FixedNode<S>) {
    auto parts = Node::children(s);
    constexpr std::size_t size = std::tuple_size_v<decltype(parts)>;
    const auto part = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      return map_leaves<M>(Node::template child_path<I>(path), f, std::get<I>(parts),
                           part_of<I, size>(others)...);
    };
    return Node::template make<M>(part, std::make_index_sequence<size>{});
  } else {
    rebind_t<S, M> result;
    Node::for_children(
        [&](const LeafPath& child, const auto& key, auto& part, auto&... other_parts) {
          Node::append(result, key, map_leaves<M>(child, f, part, other_parts...));
        },
        path, s, others...);
    return result;
  }
}

template <class F, class S, class... Other>
void each_leaf(const LeafPath& path, F& f, S& s, Other&... others) {
  using Node = structure<std::remove_cvref_t<S>>;
  if constexpr (ArrayLeaf<S>) {
    static_assert(((!ArrayStructure<Other> || ArrayLeaf<Other>) && ...),
                  "loadax: structures that go together must have the same parts");
    f(path, s, others...);
  } else if constexpr (FixedNode<S>) {
    auto parts = Node::children(s);
    constexpr std::size_t size = std::tuple_size_v<decltype(parts)>;
    const auto part = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      each_leaf(Node::template child_path<I>(path), f, std::get<I>(parts),
                part_of<I, size>(others)...);
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (part(std::integral_constant<std::size_t, I>{}), ...);
    }(std::make_index_sequence<size>{});
  } else {
    Node::for_children([&](const LeafPath& child, const auto&, auto& part,
                           auto&... other_parts) { each_leaf(child, f, part, other_parts...); },
                       path, s, others...);
  }
}

}  // namespace detail

/// The same structure with each leaf replaced by `f(path, leaf, companions...)`, which returns an
/// M<T>. A companion has the structure's form, or is one value for any whole part of it.
/// @throws ArgumentError where a companion's map or vector has other entries
/// @complexity O(leaves)
template <template <class> class M, class F, ArrayStructure S, class... Companion>
rebind_t<S, M> map_structure(F&& f, S& s, Companion&... companions) {
  return detail::map_leaves<M>(LeafPath(), f, s, companions...);
}

/// Calls `f(path, leaf, companions...)` for each leaf, in order.
/// @throws ArgumentError where a companion's map or vector has other entries
/// @complexity O(leaves), no allocation
template <class F, ArrayStructure S, class... Companion>
void for_each_leaf(F&& f, S& s, Companion&... companions) {
  detail::each_leaf(LeafPath(), f, s, companions...);
}

}  // namespace v0
}  // namespace loadax
