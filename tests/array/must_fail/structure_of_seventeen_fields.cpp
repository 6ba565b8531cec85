// error: loadax: a structure must have 1 to 16 public fields
#include <loadax/array/host_array.hpp>
#include <loadax/array/structure.hpp>
template <template <class> class Leaf>
struct Params {
  Leaf<float> a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q;
};
auto fields_of(Params<loadax::HostArray>& params) {
  return loadax::structure<Params<loadax::HostArray>>::children(params);
}
