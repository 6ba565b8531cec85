// error: loadax: this is no dataset
#include <loadax/data/dataloader.hpp>
struct Mutable {
  std::size_t size() const { return 1; }
  int operator[](std::size_t) { return 0; }
};
Mutable samples;
loadax::Dataloader loader{samples};
