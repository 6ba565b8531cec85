// error: loadax: an array element must be trivially copyable
#include <string>

#include <loadax/array/host_array.hpp>
template <template <class> class Leaf>
struct Params {
  Leaf<float> w;
  Leaf<std::string> names;
};
Params<loadax::HostArray> params;
