// error: loadax: this is no dataset
#include <loadax/data/dataloader.hpp>
struct NoDataset {};
loadax::Dataloader<NoDataset> loader{NoDataset{}};
