// error: loadax: map's function must be callable as const
#include <loadax/data/simple_dataset.hpp>
auto numbered = loadax::SimpleDataset<int>{{1, 2, 3}}.map([n = 0](int) mutable { return n++; });
