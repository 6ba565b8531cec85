// error: loadax: an example must be a field

#include <loadax/data/batch.hpp>
class Example {
  int a;

 public:
  int b;
};
loadax::Batch<Example> batch;
