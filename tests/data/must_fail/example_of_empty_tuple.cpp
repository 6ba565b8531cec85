// error: loadax: an example must be a field
#include <tuple>

#include <loadax/data/batch.hpp>
using Example = std::tuple<>;
loadax::Batch<Example> batch;
