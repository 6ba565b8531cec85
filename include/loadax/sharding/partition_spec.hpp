// How an array's dimensions go over mesh axes.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/error.hpp>

namespace loadax {
inline namespace v0 {

/// The entry of a dimension that is not split.
struct None {
  bool operator==(const None&) const = default;
};
inline constexpr None none{};

/// Several mesh axes taken as one, the first being major.
struct Axes {
  std::vector<std::string> names;
  bool operator==(const Axes&) const = default;
};

template <std::convertible_to<std::string_view>... S>
Axes axes(const S&... names) {
  return {{std::string(std::string_view(names))...}};
}

/// One entry for each dimension of an array: `none`, the name of a mesh axis, or `axes(...)`.
/// Dimensions beyond the last entry are not split.
///
/// A canonical value: trailing `none`s are dropped, `axes()` is `none`, `axes("x")` is "x"; specs
/// that mean the same are equal.
class PartitionSpec {
 public:
  class Entry {
   public:
    Entry(None) {}  // NOLINT
    Entry(std::nullptr_t) = delete;
    Entry(std::convertible_to<std::string_view> auto const& name)  // NOLINT
        : names_{std::string(std::string_view(name))} {}
    Entry(Axes axes) : names_(std::move(axes.names)) {}  // NOLINT

    /// The axes, major first; empty where the dimension is not split.
    std::span<const std::string> names() const noexcept { return names_; }
    bool operator==(const Entry&) const = default;

   private:
    std::vector<std::string> names_;
  };

  /// @throws ArgumentError for an axis that is there twice, or an empty name
  template <std::convertible_to<Entry>... E>
    requires(!(sizeof...(E) == 1 &&
               (std::derived_from<std::remove_cvref_t<E>, PartitionSpec> && ...)))
  explicit PartitionSpec(E&&... entries)
      : PartitionSpec(std::vector<Entry>{Entry(std::forward<E>(entries))...}) {}

  /// For entries that are known at run time.
  explicit PartitionSpec(std::vector<Entry> entries) : entries_(std::move(entries)) {
    while (!entries_.empty() && entries_.back().names().empty()) entries_.pop_back();
    check();
  }

  template <std::size_t N>
  explicit PartitionSpec(const char* const (&)[N]) __attribute__((
      unavailable("loadax: P({...}) is no spec: write P(\"x\", \"y\") to split two "
                  "dimensions, or P(axes(\"x\", \"y\")) to split one over both axes")));

  std::span<const Entry> entries() const noexcept { return entries_; }
  bool operator==(const PartitionSpec&) const = default;

 private:
  void check() const;

  std::vector<Entry> entries_;
};

/// JAX's short name.
using P = PartitionSpec;

/// The spec of one leaf: `Params<SpecOf>` is a structure with one spec for each leaf of
/// `Params<HostArray>`.
template <class T>
struct SpecOf : PartitionSpec {
  SpecOf() = default;
  SpecOf(PartitionSpec spec) : PartitionSpec(std::move(spec)) {}  // NOLINT
};

/// The spec as it is written: "P(x, none, axes(y, z))".
inline std::string to_string(const PartitionSpec& spec) {
  std::string text = "P(";
  for (const auto& entry : spec.entries()) {
    if (text.size() > 2) text += ", ";
    std::string names;
    for (const std::string& name : entry.names()) names += (names.empty() ? "" : ", ") + name;
    text += entry.names().empty()      ? "none"
            : entry.names().size() > 1 ? "axes(" + names + ")"
                                       : names;
  }
  return text + ")";
}

inline void PartitionSpec::check() const {
  for (std::size_t d = 0; d < entries_.size(); ++d)
    for (const std::string& name : entries_[d].names()) {
      if (name.empty())
        throw ArgumentError(fmt::format("{}: empty axis name in dimension {}", to_string(*this), d),
                            "write lx::none for a dimension that is not split");
      for (std::size_t before = 0; before <= d; ++before)
        for (const std::string& other : entries_[before].names()) {
          if (&other == &name) break;
          if (other == name)
            throw ArgumentError(fmt::format("{}: axis '{}' twice, in dimensions {} and {}",
                                            to_string(*this), name, before, d),
                                "an axis splits at most one dimension, once");
        }
    }
}

}  // namespace v0
}  // namespace loadax
