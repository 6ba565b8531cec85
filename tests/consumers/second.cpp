#include <cstddef>

#include <loadax/loadax.hpp>

std::size_t devices_seen_by_second() {
  namespace lx = loadax;
  const lx::SimulatedTopology topology{{.nodes = 1, .devices_per_node = 4}};
  return lx::make_ddp_mesh_config(topology, {"data"}).create_device_mesh(topology).size();
}
