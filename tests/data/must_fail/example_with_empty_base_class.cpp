// error: loadax: an example must be a field

#include <loadax/data/batch.hpp>
struct Base {};
struct Example : Base {
  int a, b;
};
loadax::Batch<Example> batch;
