// error: loadax: map's function must be callable as const
#include <loadax/data/simple_dataset.hpp>
auto nothing = loadax::SimpleDataset<int>{{1, 2, 3}}.map([](int) {});
