// error: loadax: this is a member of another type: write batch
#include <loadax/data/batch.hpp>
struct Example {
  int x;
};
struct Other {
  int x;
};
int sum(const loadax::Batch<Example>& batch) { return batch[&Other::x].values()[0]; }
