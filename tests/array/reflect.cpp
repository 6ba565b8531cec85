#include <array>
#include <complex>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <loadax/array/host_array.hpp>
#include <loadax/array/reflect.hpp>

#include "support/catch.hpp"

namespace {

using loadax::detail::field_count;
using loadax::detail::field_name;
using loadax::detail::tie_fields;

struct One {
  int only;
};
struct Mixed {
  std::array<float, 64> image;
  int label;
  double weights[3];
  std::vector<float> tokens;
  std::optional<int> maybe;
  std::span<const int> view;
  std::map<std::string, int> named;
  std::string text;
};
struct Nested {
  std::array<std::array<int, 2>, 3> grid;
  One one;
  int matrix[2][3];
};
struct Awkward {
  std::complex<float> z;
  loadax::HostArray<int> array;
  std::complex<double> list[2];
};
struct Holds {
  int a;
  std::reference_wrapper<int> b;
};
struct Sixteen {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};
struct Seventeen {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q;
};

}  // namespace

TEST_CASE("fields of an aggregate are counted", "[array]") {
  static_assert(field_count<One> == 1);
  static_assert(field_count<Mixed> == 8);
  static_assert(field_count<Nested> == 3);
  static_assert(field_count<Awkward> == 3);
  static_assert(field_count<Holds> == 2);
  static_assert(field_count<Sixteen> == 16);
  static_assert(field_count<Seventeen> > loadax::detail::max_fields);
  SUCCEED();
}

TEST_CASE("fields are tied in order of declaration", "[array]") {
  Sixteen s{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  const auto fields = tie_fields(s);
  CHECK(std::get<0>(fields) == 1);
  CHECK(&std::get<15>(fields) == &s.p);
  Mixed m{};
  CHECK(static_cast<void*>(&std::get<2>(tie_fields(m))) == static_cast<void*>(&m.weights));
}

TEST_CASE("fields have their names", "[array]") {
  static_assert(field_name<One, 0>() == "only");
  static_assert(field_name<Mixed, 0>() == "image");
  static_assert(field_name<Mixed, 2>() == "weights");
  static_assert(field_name<Mixed, 7>() == "text");
  static_assert(field_name<Nested, 2>() == "matrix");
  static_assert(field_name<Sixteen, 15>() == "p");
  SUCCEED();
}
