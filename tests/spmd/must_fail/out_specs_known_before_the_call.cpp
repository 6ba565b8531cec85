// error: loadax: shard_map needs one out_spec for each result
#include <string>
#include <tuple>

#include <loadax/spmd/shard_map.hpp>
namespace lx = loadax;
std::tuple<lx::ConstView<float>, lx::ConstView<float>> code(lx::DeviceContext&,
                                                            lx::ConstView<float>);
auto step_of(const lx::Mesh& mesh) {
  return lx::shard_map(mesh, lx::P("x"), std::tuple{lx::P("x")}, code);
}
