// error: loadax: an example must be a field
#include <string>

#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>
struct Example {
  int label;
  std::string name;
};
loadax::SimpleDataset<Example> examples{{}};
loadax::Dataloader loader{examples.shuffle(7), {.batch_size = 4}};
