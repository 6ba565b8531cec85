// error: loadax: an example must be a field

#include <loadax/data/batch.hpp>
struct Example {};
loadax::Batch<Example> batch;
