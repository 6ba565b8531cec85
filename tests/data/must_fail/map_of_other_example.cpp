// error: loadax: map's function must be callable as const
#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>
struct Example {
  int x;
};
loadax::SimpleDataset<int> numbers{{1, 2, 3}};
loadax::Dataloader loader{numbers.map([](const Example& e) { return e.x; })};
