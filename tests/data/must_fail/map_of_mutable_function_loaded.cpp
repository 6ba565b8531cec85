// error: loadax: map's function must be callable as const
#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>
loadax::SimpleDataset<int> numbers{{1, 2, 3}};
loadax::Dataloader loader{numbers.shuffle(1).map([n = 0](auto) mutable { return n++; })};
