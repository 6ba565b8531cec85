// A step without arguments.
#pragma once

#include <tuple>
#include <utility>

#include <loadax/mesh/mesh.hpp>
#include <loadax/sharding/partition_spec.hpp>
#include <loadax/spmd/shard_map.hpp>

namespace loadax_test {

/// Runs `code(context)` on each device of a mesh.
template <class Code>
auto on_devices(const loadax::Mesh& mesh, Code code) {
  return loadax::shard_map(mesh, std::tuple<>(), loadax::P(), std::move(code))();
}

}  // namespace loadax_test
