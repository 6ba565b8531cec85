// error: loadax: the code of a device must return
#include <string>
#include <tuple>

#include <loadax/spmd/shard_map.hpp>
namespace lx = loadax;
void call(const lx::Mesh& mesh) {
  lx::shard_map(mesh, std::tuple<>(), lx::P(),
                [](lx::DeviceContext&) { return std::string("done"); })();
}
