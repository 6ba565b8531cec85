// error: loadax: an example must be a field

#include <loadax/data/batch.hpp>
struct Example {
  int a;
  unsigned b : 3;
};
loadax::Batch<Example> batch;
