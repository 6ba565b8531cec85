// error: loadax: an example must be a field

#include <loadax/data/batch.hpp>
struct Example {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q;
};
loadax::Batch<Example> batch;
