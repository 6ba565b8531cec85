// error: loadax: this is a member of another type: write batch
#include <tuple>

#include <loadax/data/batch.hpp>
struct Other {
  int x;
};
loadax::Batch<std::tuple<int, float>> batch;
auto& x = batch[&Other::x];
