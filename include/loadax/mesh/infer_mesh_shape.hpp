// Replacing -1 in a mesh shape by what is left, and splitting a shape over granules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/core/log.hpp>
#include <loadax/mesh/hybrid_mesh_shape.hpp>
#include <loadax/mesh/mesh_shape.hpp>

namespace loadax {
inline namespace v0 {

namespace detail {

inline MeshSizes infer_mesh_sizes(const MeshShape<>& shape, std::int64_t num_devices) {
  const std::string text = to_string(shape);
  if (num_devices < 1)
    throw ArgumentError(fmt::format("mesh shape {} for {} devices", text, num_devices),
                        "a mesh needs at least one device");
  MeshSizes sizes(shape.sizes());
  std::size_t unknown = sizes.size();
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == -1 && unknown != sizes.size())
      throw ArgumentError(
          fmt::format("mesh shape {} has -1 at axes {} and {}", text, unknown, axis),
          "at most one size can be inferred");
    if (sizes[axis] == -1) unknown = axis;
  }
  if (unknown != sizes.size()) sizes[unknown] = 1;
  const std::int64_t product = device_count({sizes.data(), sizes.size()}, shape);
  if (unknown == sizes.size()) {
    check_device_count(shape, product, num_devices);
  } else {
    if (num_devices % product != 0)
      throw ArgumentError(
          fmt::format("mesh shape {}: {} devices divided by {}, the product of the other sizes, "
                      "leave {} over",
                      text, num_devices, product, num_devices % product),
          "choose sizes whose product divides the number of devices");
    sizes[unknown] = num_devices / product;
  }
  return sizes;
}

template <std::size_t Rank>
MeshShape<Rank> mesh_shape_of(const MeshSizes& sizes) {
  return MeshShape<Rank>(MeshShape<>(std::span<const std::int64_t>(sizes.data(), sizes.size())));
}

}  // namespace detail

/// The shape with -1 replaced, so that it holds exactly `num_devices`: (-1, 1, 8, 1) for 32 devices
/// is (4, 1, 8, 1). O(rank)
/// @throws ArgumentError where no such shape exists, a size is 0 or below -1, or -1 stands twice
template <std::size_t Rank>
MeshShape<Rank> infer_mesh_shape(const MeshShape<Rank>& shape, std::int64_t num_devices) {
  return detail::mesh_shape_of<Rank>(detail::infer_mesh_sizes(shape, num_devices));
}

/// How many devices there are, and on how many granules (nodes, slices) of equal size.
struct DeviceCounts {
  std::int64_t num_devices = 1;
  std::int64_t num_granules = 1;
};

/// Both levels inferred: dcn for the granules, ici for the devices of one. O(rank)
/// @throws ArgumentError as above, or where the ranks differ or the granules cannot be of equal
/// size
template <std::size_t Rank>
HybridMeshShape<Rank> infer_mesh_shape(const HybridMeshShape<Rank>& shape, DeviceCounts counts) {
  const auto [devices, granules] = counts;
  detail::check_equal_ranks(shape);
  if (granules < 1 || devices % granules != 0)
    throw ArgumentError(fmt::format("hybrid mesh shape {}: {} devices on {} granules",
                                    to_string(shape), devices, granules),
                        "every granule must have the same number of devices");
  return {infer_mesh_shape(shape.ici_mesh_shape, devices / granules),
          infer_mesh_shape(shape.dcn_mesh_shape, granules)};
}

/// What becomes of a plain mesh shape whose first axis above 1 is no multiple of the granules.
enum class OnIndivisible {
  error,
  /// One level over all devices, with a warning: neighbours may then be on different granules.
  flat
};

/// Splits a plain shape: its first axis above 1 is divided among the granules, everything after it
/// stays within one. (1, 2, 8) on 2 granules of 8 devices is ici (1, 1, 8) x dcn (1, 2, 1). A -1 is
/// inferred first. With one granule the shape stays as it is. O(rank)
/// @throws ArgumentError where that axis is no multiple of the granules (but see OnIndivisible), or
///   from infer_mesh_shape
template <std::size_t Rank>
AnyMeshShape<Rank> split_over_granules(const MeshShape<Rank>& shape, DeviceCounts counts,
                                       OnIndivisible on_indivisible = OnIndivisible::error) {
  const auto [devices, granules] = counts;
  MeshSizes ici = detail::infer_mesh_sizes(shape, devices);
  if (granules == 1) return detail::mesh_shape_of<Rank>(ici);
  std::size_t axis = 0;
  while (axis + 1 < ici.size() && ici[axis] == 1) ++axis;
  if (granules < 1 || axis == ici.size() || ici[axis] % granules != 0) {
    const std::string text = fmt::format(
        "mesh shape {}: the first axis above 1, axis {} of size {}, does not divide over {} "
        "granules",
        bracketed(ici), axis, axis < ici.size() ? ici[axis] : 1, granules);
    if (granules < 1 || on_indivisible == OnIndivisible::error)
      throw ArgumentError(text,
                          "make that axis a multiple of the number of granules, give a "
                          "HybridMeshShape, or ask for OnIndivisible::flat");
    log(LogLevel::warning, text + "; one flat mesh is made over all devices");
    return detail::mesh_shape_of<Rank>(ici);
  }
  auto dcn = MeshSizes::filled(ici.size(), 1);
  dcn[axis] = granules;
  ici[axis] /= granules;
  return HybridMeshShape<Rank>{detail::mesh_shape_of<Rank>(ici), detail::mesh_shape_of<Rank>(dcn)};
}

}  // namespace v0
}  // namespace loadax
