// error: loadax: an array element must be trivially copyable
#include <string>

#include <loadax/spmd/shard_map.hpp>
namespace lx = loadax;
void call(const lx::Mesh& mesh) {
  lx::Array<std::string> names;
  lx::shard_map(mesh, lx::P("x"), lx::P(), [](lx::DeviceContext&, const auto&) {})(names);
}
