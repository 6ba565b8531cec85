// error: loadax: an example must be a field
#include <string>

#include <loadax/data/simple_dataset.hpp>
#include <loadax/feed/sharded_dataloader.hpp>
struct Example {
  int label;
  std::string name;
};
loadax::SimpleDataset<Example> examples{{}};
loadax::ShardedDataloader loader{examples, loadax::P("data"), {.global_batch_size = 4}};
