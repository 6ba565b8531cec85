// error: loadax: an example must be a field
#include <string>

#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>
loadax::SimpleDataset<int> numbers{{1, 2, 3}};
loadax::Dataloader loader{numbers.map([](int n) { return std::to_string(n); })};
