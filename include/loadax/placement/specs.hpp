// Specs of the leaves of a structure, in the same form.
#pragma once

#include <optional>

#include <loadax/array/structure.hpp>
#include <loadax/mesh/mesh.hpp>
#include <loadax/sharding/named_sharding.hpp>
#include <loadax/sharding/partition_spec.hpp>

namespace loadax {
inline namespace v0 {

/// A spec may stand for one array or a whole part of a structure: `std::tuple{P("model"), P()}`.
template <>
struct structure<PartitionSpec> : leaf_structure<void> {};

/// One spec for each leaf: `Params<SpecOf>`.
template <class T>
struct structure<SpecOf<T>> : leaf_structure<T> {};

namespace detail {

/// The sharding of one leaf, made beforehand from its spec.
template <class T>
struct ShardingOf {
  std::optional<NamedSharding> sharding;
};

inline NamedSharding sharding_of(const Mesh& mesh, const PartitionSpec& spec) {
  return {mesh, spec};
}
template <class T>
const NamedSharding& sharding_of(const Mesh&, const ShardingOf<T>& leaf) {
  return *leaf.sharding;
}

}  // namespace detail

template <class T>
struct structure<detail::ShardingOf<T>> : leaf_structure<T> {};

}  // namespace v0
}  // namespace loadax
