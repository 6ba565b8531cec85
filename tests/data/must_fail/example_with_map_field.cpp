// error: loadax: an example must be a field
#include <map>
#include <string>

#include <loadax/data/batch.hpp>
struct Example {
  int a;
  std::map<int, int> b;
};
loadax::Batch<Example> batch;
