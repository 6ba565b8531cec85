// error: loadax: an example must be a field
#include <functional>

#include <loadax/data/batch.hpp>
struct Example {
  int a;
  std::function<void()> b;
};
loadax::Batch<Example> batch;
