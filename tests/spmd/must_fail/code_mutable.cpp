// error: loadax: shard_map needs one in_spec for each argument: its code must be callable
#include <string>
#include <tuple>

#include <loadax/spmd/shard_map.hpp>
namespace lx = loadax;
auto step_of(const lx::Mesh& mesh) {
  return lx::shard_map(mesh, std::tuple<>(), lx::P(), [n = 0](lx::DeviceContext&) mutable { ++n; });
}
