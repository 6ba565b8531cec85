// error: loadax: shard_map needs one out_spec for each result
#include <string>
#include <tuple>

#include <loadax/spmd/shard_map.hpp>
namespace lx = loadax;
void call(const lx::Mesh& mesh, const lx::Array<float>& a) {
  lx::shard_map(mesh, lx::P("x"), std::tuple{lx::P("x"), lx::P()},
                [](lx::DeviceContext&, const auto& x) { return x; })(a);
}
