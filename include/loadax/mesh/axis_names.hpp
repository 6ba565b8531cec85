// Names of a mesh's axes.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/mesh/mesh_shape.hpp>

namespace loadax {
inline namespace v0 {

template <std::size_t Rank = dynamic_rank>
class AxisNames;

namespace detail {

/// How many mesh axes a constructor's argument names; 0 where its type does not tell.
template <class T>
inline constexpr std::size_t axes_named_by = std::convertible_to<T, std::string_view> ? 1 : 0;
template <std::size_t N>
inline constexpr std::size_t axes_named_by<std::array<std::string, N>> = N;
template <std::size_t Rank>
inline constexpr std::size_t axes_named_by<AxisNames<Rank>> = Rank == dynamic_rank ? 0 : Rank;

/// Arguments that give names, but not one for each of `Rank` axes.
template <std::size_t Rank, class... T>
concept NamesOfAnotherRank = sizeof...(T) > 0 && ((axes_named_by<T> > 0) && ...) &&
                             (axes_named_by<T> + ... + 0) != Rank;

inline void check_axis_names(std::span<const std::string> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty())
      throw ArgumentError(fmt::format("axis {} of {} has an empty name", i, bracketed(names)),
                          "give every axis a name");
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      throw ArgumentError(fmt::format("axis name '{}' twice in {}", names[i], bracketed(names)),
                          "give every axis a name of its own");
  }
}

/// Where a name stands.
/// @throws ArgumentError that lists the known names
inline std::size_t find_axis(std::span<const std::string> names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw ArgumentError(fmt::format("no mesh axis '{}'", name),
                        fmt::format("the axes are {}", bracketed(names)));
  return static_cast<std::size_t>(found - names.begin());
}

/// @throws ArgumentError where a mesh shape, `shape` in words, has another number of axes
inline void check_one_name_for_each_axis(std::span<const std::string> names, std::size_t rank,
                                         const std::string& shape) {
  if (names.size() != rank)
    throw ArgumentError(
        fmt::format("{} axis names {} for mesh shape {}", names.size(), bracketed(names), shape),
        "give one name for each mesh axis");
}

}  // namespace detail

/// One name for each axis of a mesh, all different, none empty.
template <std::size_t Rank>
class AxisNames {
 public:
  static constexpr std::size_t static_rank = Rank;

  template <std::convertible_to<std::string_view>... S>
    requires(sizeof...(S) == Rank)
  AxisNames(const S&... names)  // NOLINT(google-explicit-constructor)
      : names_{std::string(std::string_view(names))...} {
    detail::check_axis_names(names_);
  }
  template <class... T>
    requires detail::NamesOfAnotherRank<Rank, T...>
  __attribute__((unavailable("loadax: give one name for each mesh axis"))) AxisNames(T...);
  AxisNames(std::array<std::string, Rank> names)  // NOLINT(google-explicit-constructor)
      : names_(std::move(names)) {
    detail::check_axis_names(names_);
  }

  static constexpr std::size_t size() noexcept { return Rank; }
  std::span<const std::string> values() const noexcept { return names_; }
  bool operator==(const AxisNames&) const = default;

 private:
  std::array<std::string, Rank> names_;
};

template <>
class AxisNames<dynamic_rank> {
 public:
  static constexpr std::size_t static_rank = dynamic_rank;

  template <std::convertible_to<std::string_view>... S>
  AxisNames(const S&... names)  // NOLINT(google-explicit-constructor)
      : names_{std::string(std::string_view(names))...} {
    detail::check_axis_names(names_);
  }
  AxisNames(std::vector<std::string> names)  // NOLINT(google-explicit-constructor)
      : names_(std::move(names)) {
    detail::check_axis_names(names_);
  }
  template <std::size_t R>
    requires(R != dynamic_rank)
  AxisNames(const AxisNames<R>& names)  // NOLINT(google-explicit-constructor)
      : names_(names.values().begin(), names.values().end()) {}

  std::size_t size() const noexcept { return names_.size(); }
  std::span<const std::string> values() const noexcept { return names_; }
  bool operator==(const AxisNames&) const = default;

 private:
  std::vector<std::string> names_;
};

}  // namespace v0
}  // namespace loadax
