// error: loadax: an example must be a field
#include <optional>

#include <loadax/data/batch.hpp>
struct Example {
  int a;
  std::optional<int> b;
};
loadax::Batch<Example> batch;
