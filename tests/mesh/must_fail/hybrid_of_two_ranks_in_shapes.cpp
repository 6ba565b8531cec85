// error: loadax: give one size for each mesh axis
#include <loadax/mesh/hybrid_mesh_shape.hpp>
auto shape = loadax::HybridMeshShape{loadax::MeshShape{1, 8}, loadax::MeshShape{4}};
