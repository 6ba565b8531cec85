// error: loadax: this is no dataset
#include <loadax/data/transforms.hpp>
struct NoDataset {};
loadax::ShuffleDataset transformed{NoDataset{}, 7};
