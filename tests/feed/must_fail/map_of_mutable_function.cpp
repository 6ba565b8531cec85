// error: loadax: map's function must be callable as const
#include <loadax/data/simple_dataset.hpp>
#include <loadax/feed/sharded_dataloader.hpp>
loadax::SimpleDataset<int> numbers{{1, 2, 3}};
loadax::ShardedDataloader loader{numbers.shuffle(1).map([n = 0](auto) mutable { return n++; }),
                                 loadax::P("data")};
