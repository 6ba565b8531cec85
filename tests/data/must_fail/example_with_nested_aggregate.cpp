// error: loadax: an example must be a field

#include <loadax/data/batch.hpp>
struct Point {
  float x, y;
};
struct Example {
  Point at;
  int label;
};
loadax::Batch<Example> batch;
