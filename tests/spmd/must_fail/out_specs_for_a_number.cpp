// error: loadax: shard_map needs one out_spec for each result
#include <string>
#include <tuple>

#include <loadax/spmd/shard_map.hpp>
namespace lx = loadax;
void call(const lx::Mesh& mesh) {
  lx::shard_map(mesh, std::tuple<>(), std::tuple{lx::P(), lx::P()},
                [](lx::DeviceContext&) { return 1.0f; })();
}
