// error: loadax: map's function must be callable as const
#include <loadax/data/simple_dataset.hpp>
loadax::SimpleDataset<int> numbers{{1, 2, 3}};
auto counted = numbers.shuffle(1)
                   .map([](int n) { return n + 1; })
                   .slice(0, 2)
                   .map([n = 0](auto) mutable { return n++; })
                   .shuffle(2);
