// error: loadax: an example must be a field

#include <loadax/data/batch.hpp>
struct Example {
  int a;
  union {
    int b;
    float c;
  };
};
loadax::Batch<Example> batch;
