// error: loadax: give one size for each mesh axis
#include <loadax/device/simulated_topology.hpp>
#include <loadax/parallel/fsdp.hpp>
loadax::SimulatedTopology topology{{.devices_per_node = 8}};
auto config = loadax::make_fsdp_mesh_config(
    topology, {"data", "model"},
    {.mesh_rules = {{"h100.*", loadax::HybridMeshShape{{1, 8, 1}, {4, 1, 1}}}}});
