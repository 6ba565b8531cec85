// Specs of the leaves of a structure, in the same form.
#pragma once

#include <loadax/array/structure.hpp>
#include <loadax/sharding/partition_spec.hpp>

namespace loadax {
inline namespace v0 {

/// A spec may stand for one array or a whole part of a structure: `std::tuple{P("model"), P()}`.
template <>
struct structure<PartitionSpec> : leaf_structure<void> {};

/// One spec for each leaf: `Params<SpecOf>`.
template <class T>
struct structure<SpecOf<T>> : leaf_structure<T> {};

}  // namespace v0
}  // namespace loadax
