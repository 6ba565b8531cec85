// error: loadax: this is no dataset
#include <loadax/data/simple_dataset.hpp>
struct NoSize {
  int operator[](std::size_t) const { return 0; }
};
auto shuffled = loadax::dataset(NoSize{}).shuffle(7);
