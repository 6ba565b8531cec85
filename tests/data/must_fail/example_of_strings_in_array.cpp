// error: loadax: an example must be a field
#include <array>
#include <string>

#include <loadax/data/batch.hpp>
using Example = std::array<std::string, 2>;
loadax::Batch<Example> batch;
