// error: loadax: an array element must be trivially copyable
#include <string>
#include <tuple>

#include <loadax/array/host_array.hpp>
#include <loadax/spmd/shard_map.hpp>
namespace lx = loadax;
auto step_of(const lx::Mesh& mesh) {
  return lx::shard_map(mesh, std::tuple<>(), lx::P(),
                       [](lx::DeviceContext&) { return lx::HostArray<std::string>{}; });
}
