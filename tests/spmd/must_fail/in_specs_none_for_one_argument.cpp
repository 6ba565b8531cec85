// error: loadax: the code of a device must be callable as const
#include <tuple>

#include <loadax/spmd/shard_map.hpp>
namespace lx = loadax;
void call(const lx::Mesh& mesh) {
  lx::shard_map(mesh, std::tuple<>(), lx::P(), [](lx::DeviceContext&, const auto&) {})();
}
