// error: loadax: give one name for each mesh axis
#include <array>
#include <string>

#include <loadax/mesh/mesh_config.hpp>
std::array<std::string, 1> names{"data"};
auto config = loadax::MeshConfig<2>{.mesh_shape = {4, 2}, .mesh_axis_names = names};
