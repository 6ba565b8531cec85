// A consumer's program of two translation units.
#include <cstdio>

#include <loadax/loadax.hpp>

std::size_t devices_seen_by_second();

int main() {
  namespace lx = loadax;
  const lx::SimulatedTopology topology{{.nodes = 1, .devices_per_node = 8}};
  const auto config = lx::make_fsdp_mesh_config(topology, {"data", "model"});
  const lx::Mesh mesh = config.create_device_mesh(topology);
  std::printf("devices=%zu\n", mesh.size());
  return mesh.size() == 8 && devices_seen_by_second() == 4 ? 0 : 1;
}
