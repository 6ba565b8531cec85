// A consumer's program of two translation units: a mesh, an array over it, a collective.
#include <cstdio>
#include <string>

#include <loadax/loadax.hpp>

namespace lx = loadax;

std::size_t devices_seen_by_second();

template <template <class> class Leaf>
struct Params {
  Leaf<int> weights;  // [16]
};

int main() {
  const lx::SimulatedTopology topology{{.nodes = 1, .devices_per_node = 8}};
  const lx::Mesh mesh =
      lx::make_fsdp_mesh_config(topology, {"data", "model"}).create_device_mesh(topology);
  const lx::MeshScope scope{mesh};

  Params<lx::HostArray> host{.weights = lx::HostArray<int>(lx::Shape{16})};
  int next = 0;
  for (int& weight : host.weights.values()) weight = next++;
  const auto params = lx::host_to_global_device_array(host, lx::P("model"));

  auto sum = lx::shard_map(mesh, {lx::P("model")}, lx::P(),
                           [](lx::DeviceContext& ctx, const Params<lx::ConstView>& mine) {
                             const int* weight = mine.weights.data();
                             return ctx.psum(weight[0] + weight[1], "model");
                           });
  const int total = sum(params);

  std::string name;  // as the compiler tells it
  lx::for_each_leaf([&](const lx::LeafPath& path, const auto&) { name = path.str(); }, host);

  std::printf("devices=%zu %s=%d\n", mesh.size(), name.c_str(), total);
  const bool correct = mesh.size() == 8 && total == 15 * 16 / 2 && name == "weights";
  return correct && devices_seen_by_second() == 4 ? 0 : 1;
}
