// error: loadax: an example must be a field
#include <memory>

#include <loadax/data/batch.hpp>
struct Example {
  int a;
  std::unique_ptr<int> b;
};
loadax::Batch<Example> batch;
