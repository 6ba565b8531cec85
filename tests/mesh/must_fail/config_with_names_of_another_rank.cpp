// error: loadax: give one name for each mesh axis
#include <loadax/mesh/mesh_config.hpp>
auto config =
    loadax::MeshConfig<2>{.mesh_shape = {4, 2}, .mesh_axis_names = loadax::AxisNames<1>{"data"}};
