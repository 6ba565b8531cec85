// error: loadax: give one size for each mesh axis
#include <loadax/mesh/mesh_config.hpp>
auto config = loadax::MeshConfig<2>{.mesh_shape = loadax::HybridMeshShape{{4}, {2}},
                                    .mesh_axis_names = {"data", "model"}};
