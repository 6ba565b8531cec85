// error: loadax: an example must be a field
#include <any>

#include <loadax/data/batch.hpp>
struct Example {
  std::any a;
  int b;
};
loadax::Batch<Example> batch;
