// error: loadax: give one size for each mesh axis
#include <loadax/mesh/rules.hpp>
auto rule = loadax::MeshRule<2>{"h100.*", {4, 2, 1}};
