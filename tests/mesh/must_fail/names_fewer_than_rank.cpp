// error: loadax: give one name for each mesh axis
#include <loadax/mesh/axis_names.hpp>
loadax::AxisNames<2> names{"data"};
