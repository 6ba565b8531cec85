// A mesh shape of two levels: within a granule (a node, a slice) and across granules.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <variant>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/mesh/mesh_shape.hpp>

namespace loadax {
inline namespace v0 {

/// Axis k of the mesh has ici_mesh_shape[k] * dcn_mesh_shape[k] devices: the first over the fast
/// interconnect within a granule, the second over the network across granules.
template <std::size_t Rank = dynamic_rank>
struct HybridMeshShape {
  MeshShape<Rank> ici_mesh_shape, dcn_mesh_shape;

  // A template, for otherwise nvcc warns of a conversion to the type itself.
  template <std::same_as<HybridMeshShape<dynamic_rank>> Dynamic>
  operator Dynamic() const  // NOLINT(google-explicit-constructor)
    requires(Rank != dynamic_rank)
  {
    return {ici_mesh_shape, dcn_mesh_shape};
  }
  bool operator==(const HybridMeshShape&) const = default;
};

// The rank is that of the ici_mesh_shape; a dcn_mesh_shape of another one does not convert.
template <std::size_t Ici, std::size_t Dcn>
HybridMeshShape(MeshShape<Ici>, MeshShape<Dcn>) -> HybridMeshShape<Ici>;
template <std::size_t Ici, std::size_t Dcn, std::integral I, std::integral J>
HybridMeshShape(const I (&)[Ici], const J (&)[Dcn]) -> HybridMeshShape<Ici>;

namespace detail {

template <std::size_t Rank>
inline constexpr std::size_t axes_sized_by<HybridMeshShape<Rank>> = axes_sized_by<MeshShape<Rank>>;

}  // namespace detail

/// "ici [1, 8] x dcn [4, 1]"
template <std::size_t Rank>
std::string to_string(const HybridMeshShape<Rank>& shape) {
  return fmt::format("ici {} x dcn {}", to_string(shape.ici_mesh_shape),
                     to_string(shape.dcn_mesh_shape));
}

namespace detail {

/// @throws ArgumentError where the levels of a shape that is known at run time have other ranks
inline void check_equal_ranks(const HybridMeshShape<>& shape) {
  const auto& [ici, dcn] = shape;
  if (ici.rank() != dcn.rank())
    throw ArgumentError(fmt::format("hybrid mesh shape {}: {} axes in ici and {} in dcn",
                                    to_string(shape), ici.rank(), dcn.rank()),
                        "give one size for each mesh axis in both");
}

}  // namespace detail

/// A MeshShape or a HybridMeshShape: what MeshConfig and MeshRule hold.
template <std::size_t Rank = dynamic_rank>
class AnyMeshShape {
 public:
  AnyMeshShape(const MeshShape<Rank>& shape) : value_(shape) {}  // NOLINT
  /// A template, so that `{{4, 2}}` means a MeshShape and nothing else.
  template <std::same_as<HybridMeshShape<Rank>> Hybrid>
  AnyMeshShape(const Hybrid& shape) : value_(shape) {}  // NOLINT
  template <std::integral... I>
    requires(sizeof...(I) == Rank || (Rank == dynamic_rank && sizeof...(I) >= 1))
  AnyMeshShape(I... sizes) : value_(MeshShape<Rank>(sizes...)) {}  // NOLINT
  template <class... T>
    requires(Rank != dynamic_rank && detail::SizesOfAnotherRank<Rank, T...>)
  __attribute__((unavailable("loadax: give one size for each mesh axis"))) AnyMeshShape(T...);
  template <std::size_t R>
    requires(Rank == dynamic_rank && R != dynamic_rank)
  AnyMeshShape(const AnyMeshShape<R>& shape)  // NOLINT(google-explicit-constructor)
      : value_(
            std::visit([](const auto& s) { return AnyMeshShape(of(s)); }, shape.value()).value()) {}

  const std::variant<MeshShape<Rank>, HybridMeshShape<Rank>>& value() const noexcept {
    return value_;
  }
  std::size_t rank() const {
    const auto* plain = std::get_if<0>(&value_);
    return plain ? plain->rank() : std::get<1>(value_).ici_mesh_shape.rank();
  }
  bool operator==(const AnyMeshShape&) const = default;

 private:
  template <std::size_t R>
  static MeshShape<Rank> of(const MeshShape<R>& shape) {
    return shape;
  }
  template <std::size_t R>
  static HybridMeshShape<Rank> of(const HybridMeshShape<R>& shape) {
    return shape;
  }

  std::variant<MeshShape<Rank>, HybridMeshShape<Rank>> value_;
};

template <std::size_t Rank>
std::string to_string(const AnyMeshShape<Rank>& shape) {
  return std::visit([](const auto& s) { return to_string(s); }, shape.value());
}

}  // namespace v0
}  // namespace loadax
