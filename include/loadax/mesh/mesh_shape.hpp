// How many devices a mesh has along each of its axes.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/checked.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/shape.hpp>

namespace loadax {
inline namespace v0 {

/// The rank of what is known only at run time.
inline constexpr std::size_t dynamic_rank = static_cast<std::size_t>(-1);

/// Sizes of a mesh's axes, whatever their number.
using MeshSizes = InlineVector<std::int64_t, max_rank>;

template <std::size_t Rank = dynamic_rank>
class MeshShape;

namespace detail {

/// How many mesh axes a constructor's argument gives sizes for; 0 where its type does not tell.
template <class T>
inline constexpr std::size_t axes_sized_by = std::integral<T> ? 1 : 0;
template <std::size_t Rank>
inline constexpr std::size_t axes_sized_by<MeshShape<Rank>> = Rank == dynamic_rank ? 0 : Rank;

/// Arguments that give sizes, but not one for each of `Rank` axes.
template <std::size_t Rank, class... T>
concept SizesOfAnotherRank = sizeof...(T) > 0 && ((axes_sized_by<T> > 0) && ...) &&
                             (axes_sized_by<T> + ... + 0) != Rank;

template <std::integral I>
constexpr std::int64_t mesh_size(I size) {
  if (!std::in_range<std::int64_t>(size))
    throw ArgumentError(fmt::format("MeshShape: size {} does not fit in 64 bits with a sign", size),
                        "check it for an overflow");
  return static_cast<std::int64_t>(size);
}

}  // namespace detail

/// The sizes of a mesh's axes, major first; one may be -1, to be inferred from the devices. To
/// make, copy or compare: O(rank).
template <std::size_t Rank>
class MeshShape {
  static_assert(Rank <= max_rank, "loadax: a mesh has at most max_rank axes");

 public:
  template <std::integral... I>
    requires(sizeof...(I) == Rank)
  constexpr MeshShape(I... sizes)  // NOLINT(google-explicit-constructor)
      : sizes_{detail::mesh_size(sizes)...} {}
  template <class... T>
    requires detail::SizesOfAnotherRank<Rank, T...>
  __attribute__((unavailable("loadax: give one size for each mesh axis"))) MeshShape(T...);

  constexpr explicit MeshShape(std::span<const std::int64_t, Rank> sizes) {
    std::copy(sizes.begin(), sizes.end(), sizes_.begin());
  }

  /// @throws ArgumentError where the rank is another
  template <std::same_as<MeshShape<dynamic_rank>> Dynamic>
  explicit MeshShape(const Dynamic& shape) {
    if (shape.rank() != Rank)
      throw ArgumentError(fmt::format("mesh shape {} has {} axes where {} are needed",
                                      bracketed(shape.sizes()), shape.rank(), Rank),
                          "give one size for each mesh axis");
    std::copy(shape.sizes().begin(), shape.sizes().end(), sizes_.begin());
  }

  static constexpr std::size_t rank() noexcept { return Rank; }
  constexpr std::span<const std::int64_t> sizes() const noexcept { return sizes_; }
  constexpr std::int64_t operator[](std::size_t axis) const { return sizes_[axis]; }
  bool operator==(const MeshShape&) const = default;

 private:
  std::array<std::int64_t, Rank> sizes_{};
};

/// A mesh shape whose rank is known at run time, such as one that was read from a file.
template <>
class MeshShape<dynamic_rank> {
 public:
  template <std::integral... I>
    requires(sizeof...(I) >= 1)
  MeshShape(I... sizes)  // NOLINT(google-explicit-constructor)
      : sizes_{detail::mesh_size(sizes)...} {}
  MeshShape(const std::vector<std::int64_t>& sizes)  // NOLINT(google-explicit-constructor)
      : sizes_(sizes) {}
  explicit MeshShape(std::span<const std::int64_t> sizes) : sizes_(sizes) {}
  template <std::size_t R>
    requires(R != dynamic_rank)
  MeshShape(const MeshShape<R>& shape)  // NOLINT(google-explicit-constructor)
      : sizes_(shape.sizes()) {}

  std::size_t rank() const noexcept { return sizes_.size(); }
  std::span<const std::int64_t> sizes() const noexcept { return {sizes_.data(), sizes_.size()}; }
  std::int64_t operator[](std::size_t axis) const { return sizes_[axis]; }
  bool operator==(const MeshShape&) const = default;

 private:
  MeshSizes sizes_;
};

template <std::integral... I>
MeshShape(I...) -> MeshShape<sizeof...(I)>;
MeshShape(std::vector<std::int64_t>) -> MeshShape<dynamic_rank>;
template <std::size_t R>
MeshShape(std::span<const std::int64_t, R>) -> MeshShape<R>;

/// "[4, 2]". O(rank)
template <std::size_t Rank>
std::string to_string(const MeshShape<Rank>& shape) {
  return bracketed(shape.sizes());
}

namespace detail {

/// The product of sizes that are those of `shape`, but for a -1 that may have been replaced.
inline std::int64_t device_count(std::span<const std::int64_t> sizes, const MeshShape<>& shape) {
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    if (sizes[axis] < 1)
      throw ArgumentError(
          fmt::format("mesh shape {} has size {} at axis {}", to_string(shape), sizes[axis], axis),
          sizes[axis] == -1 ? "infer_mesh_shape replaces -1 by what is left"
                            : "every axis needs at least one device");
  if (auto count = checked_product(sizes)) return *count;
  throw ArgumentError(fmt::format("mesh shape {} has more than 2^63 devices", to_string(shape)),
                      "check the sizes for an overflow");
}

/// @throws ArgumentError where a shape for `count` devices meets another number of them
inline void check_device_count(const MeshShape<>& shape, std::int64_t count, std::int64_t devices) {
  if (count != devices)
    throw ArgumentError(fmt::format("mesh shape {} is for {} devices, not for {}", to_string(shape),
                                    count, devices),
                        "make the product of the sizes the number of devices; infer_mesh_shape "
                        "replaces a -1 by what is left");
}

}  // namespace detail

/// How many devices a mesh of this shape has. O(rank)
/// @throws ArgumentError where a size is not positive (-1 must have been inferred), or the product
///   does not fit in 64 bits
inline std::int64_t device_count(const MeshShape<>& shape) {
  return detail::device_count(shape.sizes(), shape);
}

}  // namespace v0
}  // namespace loadax
