// error: loadax: this is a member of another type: write get
#include <loadax/data/batch.hpp>
struct Example {
  int x;
};
struct Other {
  int x;
};
int sum(const loadax::Batch<Example>& batch) { return get<&Other::x>(batch).values()[0]; }
