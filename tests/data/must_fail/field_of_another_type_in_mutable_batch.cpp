// error: loadax: this is a member of another type: write batch
#include <loadax/data/batch.hpp>
struct Example {
  int x;
};
struct Other {
  int x;
};
loadax::Batch<Example> batch;
auto& x = batch[&Other::x];
