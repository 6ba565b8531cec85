// error: loadax: this is no dataset
#include <loadax/data/transforms.hpp>
struct NoDataset {};
loadax::SliceDataset transformed{NoDataset{}, loadax::Slice{0, 1}};
