// error: loadax: this is no dataset
#include <loadax/data/dataloader.hpp>
struct NoDataset {};
loadax::Dataloader loader{NoDataset{}, {.batch_size = 4}};
