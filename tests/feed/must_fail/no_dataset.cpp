// error: loadax: this is no dataset
#include <loadax/feed/sharded_dataloader.hpp>
struct NoDataset {};
loadax::ShardedDataloader loader{NoDataset{}, loadax::P("data"), {.global_batch_size = 4}};
