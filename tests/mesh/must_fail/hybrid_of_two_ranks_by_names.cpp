// error: loadax: give one size for each mesh axis
#include <loadax/mesh/hybrid_mesh_shape.hpp>
auto shape = loadax::HybridMeshShape{.ici_mesh_shape = loadax::MeshShape{1, 8},
                                     .dcn_mesh_shape = loadax::MeshShape{4}};
