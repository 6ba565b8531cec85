// error: loadax: shard_map needs one in_spec for each argument
#include <string>
#include <tuple>

#include <loadax/spmd/shard_map.hpp>
namespace lx = loadax;
void call(const lx::Mesh& mesh, const lx::Array<float>& a, const lx::Array<float>& b) {
  lx::shard_map(mesh, {lx::P("x")}, lx::P(), [](lx::DeviceContext&, const auto&...) {})(a, b);
}
