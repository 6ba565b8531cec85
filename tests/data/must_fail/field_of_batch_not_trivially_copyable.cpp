// error: loadax: an example must be a field
#include <string>

#include <loadax/data/batch.hpp>
struct Example {
  int label;
  std::string name;
};
loadax::Batch<Example> batch;
