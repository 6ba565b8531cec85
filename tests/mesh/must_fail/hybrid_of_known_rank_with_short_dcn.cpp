// error: loadax: give one size for each mesh axis
#include <loadax/mesh/hybrid_mesh_shape.hpp>
auto shape = loadax::HybridMeshShape<2>{.ici_mesh_shape = {1, 8}, .dcn_mesh_shape = {4}};
