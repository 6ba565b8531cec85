// error: loadax: an example must be a field

#include <loadax/data/batch.hpp>
struct Base {
  int a;
};
struct Example : Base {
  int b;
};
loadax::Batch<Example> batch;
