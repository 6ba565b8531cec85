// error: loadax: an example must be a field

#include <loadax/data/batch.hpp>
struct Example {
  int a;
  const int& b;
};
loadax::Batch<Example> batch;
