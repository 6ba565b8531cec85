// error: loadax: shard_map needs one in_spec for each argument
#include <string>
#include <tuple>

#include <loadax/spmd/shard_map.hpp>
namespace lx = loadax;
float loss(lx::DeviceContext&, lx::ConstView<float>, lx::ConstView<float>);
auto step_of(const lx::Mesh& mesh) { return lx::shard_map(mesh, {lx::P("x")}, lx::P(), loss); }
