// error: loadax: an argument of a step must be an array
#include <string>
#include <tuple>

#include <loadax/spmd/shard_map.hpp>
namespace lx = loadax;
void call(const lx::Mesh& mesh) {
  lx::shard_map(mesh, lx::P("x"), lx::P(), [](lx::DeviceContext&, const auto&) {})(1.0f);
}
