// error: loadax: this is no dataset
#include <loadax/data/transforms.hpp>
struct NoDataset {};
loadax::MapDataset transformed{NoDataset{}, [](int n) { return n; }};
