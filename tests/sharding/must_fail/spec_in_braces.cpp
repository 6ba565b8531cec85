// error: loadax: P({...}) is no spec: write P("x", "y")
#include <loadax/sharding/partition_spec.hpp>
auto spec = loadax::P({"data", "model"});
