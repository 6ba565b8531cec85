// error: loadax: an example must be a field

#include <loadax/data/batch.hpp>
struct Example {
  Example(int x) : a(x) {}
  int a;
};
loadax::Batch<Example> batch;
