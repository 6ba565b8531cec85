// error: loadax: HybridMeshShape needs ici_mesh_shape and dcn_mesh_shape of the same rank
#include <loadax/mesh/hybrid_mesh_shape.hpp>
auto shape = loadax::HybridMeshShape{loadax::MeshShape{1, 8}, loadax::MeshShape{4}};
