// Kinds of examples, each collated and compared with what stands in its samples. Kinds that are
// refused with a text are in must_fail/.
#include <array>
#include <complex>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <loadax/array/host_array.hpp>
#include <loadax/data/batch.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/example.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/catch.hpp"

namespace lx = loadax;

namespace {

/// The samples of a dataset that makes them anew each time, so that they need not be copyable.
template <class Make>
struct Made {
  Make make;
  std::size_t size() const { return 3; }
  auto operator[](std::size_t i) const { return make(static_cast<int>(i)); }
};

/// A batch of make(0), make(1) and make(2).
template <class Make>
auto batch_of(Make make) {
  const lx::Dataloader loader{Made<Make>{make}, {.batch_size = 3}};
  return *loader.begin();
}

/// That an array has this shape and these elements.
template <class T>
void check_array(const lx::HostArray<T>& array, const lx::Shape& shape,
                 const std::vector<T>& values) {
  CHECK(array.shape() == shape);
  CHECK(std::vector<T>(array.values().begin(), array.values().end()) == values);
}

struct Constants {
  const int number;
  const int list[2];
  const std::array<float, 2> pair;
};
struct alignas(64) Aligned {
  std::uint8_t first;
  alignas(32) float lanes[2];
  alignas(16) std::int16_t last;
};
struct Defaults {
  int a = 3;
  float b[2] = {1, 2};
};
struct Deep {
  std::array<std::array<std::array<int, 2>, 1>, 2> arrays;
  int c_arrays[2][1][2];
  std::array<int[2], 2> mixed;
};
struct Sequences {
  std::vector<int> numbers;
  std::vector<bool> bits;
  std::span<const int> view;
  std::span<const int, 2> fixed;
  std::vector<std::array<int, 2>> pairs;
  lx::HostArray<int> matrix;
};
enum class Colour : std::uint8_t { red, green, blue };
enum Plain { first, second, third };
struct Scalars {
  bool flag;
  char letter;
  std::int64_t wide;
  std::uint8_t narrow;
  double real;
  long double extended;
  std::complex<double> z;
  Colour colour;
  Plain plain;
};
struct OneType {  // only the member pointer tells them apart
  int a, b;
  const int c;
  int d;
};
struct Sixteen {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};
template <class T, std::size_t N>
struct Generic {
  std::array<T, N> values;
  T scale;
};

}  // namespace

TEST_CASE("const fields are collated and found by member pointer") {
  const auto batch =
      batch_of([](int i) { return Constants{i, {i + 1, i + 2}, {static_cast<float>(i), 9}}; });
  check_array(batch[&Constants::number], {3}, {0, 1, 2});
  check_array(batch[&Constants::list], {3, 2}, {1, 2, 2, 3, 3, 4});
  check_array(batch[&Constants::pair], {3, 2}, {0, 9, 1, 9, 2, 9});
  CHECK(&get<&Constants::list>(batch) == &batch[&Constants::list]);
}

TEST_CASE("padding between aligned fields is no part of a row") {
  const auto batch = batch_of([](int i) {
    return Aligned{
        static_cast<std::uint8_t>(i), {1, static_cast<float>(i)}, static_cast<std::int16_t>(-i)};
  });
  check_array(batch[&Aligned::first], {3}, std::vector<std::uint8_t>{0, 1, 2});
  check_array(batch[&Aligned::lanes], {3, 2}, {1, 0, 1, 1, 1, 2});
  check_array(batch[&Aligned::last], {3}, std::vector<std::int16_t>{0, -1, -2});
}

TEST_CASE("default member initialisers make no difference") {
  const auto batch = batch_of([](int i) { return i == 1 ? Defaults{7, {8, 9}} : Defaults{}; });
  check_array(batch[&Defaults::a], {3}, {3, 7, 3});
  check_array(batch[&Defaults::b], {3, 2}, {1, 2, 8, 9, 1, 2});
}

TEST_CASE("arrays of arrays become dimensions, outermost first") {
  const auto batch = batch_of([](int i) {
    return Deep{{{{{{i, 1}}}, {{{2, 3}}}}}, {{{i, 1}}, {{2, 3}}}, {{{i, 1}, {2, 3}}}};
  });
  const std::vector<int> expected{0, 1, 2, 3, 1, 1, 2, 3, 2, 1, 2, 3};
  check_array(batch[&Deep::arrays], {3, 2, 1, 2}, expected);
  check_array(batch[&Deep::c_arrays], {3, 2, 1, 2}, expected);
  check_array(batch[&Deep::mixed], {3, 2, 2}, expected);
}

TEST_CASE("sequences become one dimension, of arrays one more") {
  static const std::array<int, 4> numbers{5, 6, 7, 8};
  const auto batch = batch_of([](int i) {
    const auto at = static_cast<std::size_t>(i);
    return Sequences{{i, 1},
                     {i == 0, true},
                     {&numbers[at], 2},
                     std::span<const int, 2>(&numbers[at], 2),
                     {{i, 1}, {2, 3}},
                     lx::HostArray<int>({1, 2}, {i, 4})};
  });
  check_array(batch[&Sequences::numbers], {3, 2}, {0, 1, 1, 1, 2, 1});
  check_array(batch[&Sequences::bits], {3, 2}, {true, true, false, true, false, true});
  check_array(batch[&Sequences::view], {3, 2}, {5, 6, 6, 7, 7, 8});
  check_array(batch[&Sequences::fixed], {3, 2}, {5, 6, 6, 7, 7, 8});
  check_array(batch[&Sequences::pairs], {3, 2, 2}, {0, 1, 2, 3, 1, 1, 2, 3, 2, 1, 2, 3});
  check_array(batch[&Sequences::matrix], {3, 1, 2}, {0, 4, 1, 4, 2, 4});
}

TEST_CASE("every kind of number keeps its type") {
  const auto batch = batch_of([](int i) {
    return Scalars{i == 1,
                   static_cast<char>('a' + i),
                   -i,
                   static_cast<std::uint8_t>(255 - i),
                   i / 2.0,
                   i / 4.0L,
                   {1, static_cast<double>(i)},
                   static_cast<Colour>(i),
                   static_cast<Plain>(i)};
  });
  check_array(batch[&Scalars::flag], {3}, {false, true, false});
  check_array(batch[&Scalars::letter], {3}, {'a', 'b', 'c'});
  check_array(batch[&Scalars::wide], {3}, std::vector<std::int64_t>{0, -1, -2});
  check_array(batch[&Scalars::narrow], {3}, std::vector<std::uint8_t>{255, 254, 253});
  check_array(batch[&Scalars::real], {3}, {0.0, 0.5, 1.0});
  check_array(batch[&Scalars::extended], {3}, {0.0L, 0.25L, 0.5L});
  check_array(batch[&Scalars::z], {3}, std::vector<std::complex<double>>{{1, 0}, {1, 1}, {1, 2}});
  check_array(batch[&Scalars::colour], {3}, {Colour::red, Colour::green, Colour::blue});
  check_array(batch[&Scalars::plain], {3}, {first, second, third});
}

TEST_CASE("fields of one type are told apart, const or not") {
  const auto batch = batch_of([](int i) { return OneType{i, 10 + i, 20 + i, 30 + i}; });
  check_array(batch[&OneType::a], {3}, {0, 1, 2});
  check_array(batch[&OneType::b], {3}, {10, 11, 12});
  check_array(batch[&OneType::c], {3}, {20, 21, 22});
  check_array(batch[&OneType::d], {3}, {30, 31, 32});
  check_array(get<&OneType::c>(batch), {3}, {20, 21, 22});
}

TEST_CASE("sixteen fields are collated") {
  const auto batch = batch_of([](int i) {
    return Sixteen{i,     i + 1, i + 2,  i + 3,  i + 4,  i + 5,  i + 6,  i + 7,
                   i + 8, i + 9, i + 10, i + 11, i + 12, i + 13, i + 14, i + 15};
  });
  static_assert(batch.fields == 16);
  check_array(batch[&Sixteen::a], {3}, {0, 1, 2});
  check_array(batch[&Sixteen::h], {3}, {7, 8, 9});
  check_array(batch[&Sixteen::p], {3}, {15, 16, 17});
}

TEST_CASE("an aggregate template is an example for each of its arguments") {
  const auto shorts = batch_of([](int i) {
    const auto n = static_cast<std::int16_t>(i);
    return Generic<std::int16_t, 1>{{n}, n};
  });
  check_array(shorts[&Generic<std::int16_t, 1>::values], {3, 1},
              std::vector<std::int16_t>{0, 1, 2});
  const auto doubles = batch_of([](int i) { return Generic<double, 2>{{1, 2}, i / 2.0}; });
  check_array(doubles[&Generic<double, 2>::values], {3, 2}, {1, 2, 1, 2, 1, 2});
  check_array(doubles[&Generic<double, 2>::scale], {3}, {0, 0.5, 1});
}

TEST_CASE("tuples and pairs of any kinds of fields are examples") {
  const auto tuples = batch_of([](int i) {
    return std::tuple{std::array{i, 1}, std::vector<float>{2}, i == 0, std::complex<float>(3)};
  });
  check_array(get<0>(tuples), {3, 2}, {0, 1, 1, 1, 2, 1});
  check_array(get<1>(tuples), {3, 1}, {2, 2, 2});
  check_array(get<2>(tuples), {3}, {true, false, false});
  check_array(get<3>(tuples), {3}, std::vector<std::complex<float>>{3, 3, 3});
  static const std::array<float, 3> constants{4, 5, 6};
  const auto references = batch_of([](int i) {
    return std::pair<const float&, int>(constants[static_cast<std::size_t>(i)], i);
  });
  check_array(get<0>(references), {3}, {4, 5, 6});
  check_array(get<1>(references), {3}, {0, 1, 2});
}

TEST_CASE("a field alone is an example") {
  check_array(get<0>(batch_of([](int i) { return i; })), {3}, {0, 1, 2});
  check_array(get<0>(batch_of([](int i) { return static_cast<Colour>(i); })), {3},
              {Colour::red, Colour::green, Colour::blue});
  check_array(get<0>(batch_of([](int i) { return std::complex<float>(1, static_cast<float>(i)); })),
              {3}, std::vector<std::complex<float>>{{1, 0}, {1, 1}, {1, 2}});
  check_array(get<0>(batch_of([](int i) { return std::array<std::array<int, 2>, 1>{{{i, 1}}}; })),
              {3, 1, 2}, {0, 1, 1, 1, 2, 1});
  check_array(get<0>(batch_of([](int i) { return std::vector{i, 1}; })), {3, 2},
              {0, 1, 1, 1, 2, 1});
  check_array(get<0>(batch_of([](int i) { return lx::HostArray<int>({1, 1}, {i}); })), {3, 1, 1},
              {0, 1, 2});
}

TEST_CASE("what cannot be collated is no example") {
  static_assert(!lx::ExampleType<std::string> && !lx::ExampleType<const char*>);
  static_assert(!lx::ExampleType<std::optional<int>> && !lx::ExampleType<std::tuple<>>);
  static_assert(!lx::ExampleType<std::vector<std::string>>);
  static_assert(!lx::ExampleType<std::vector<std::vector<int>>>);
  static_assert(!lx::ExampleType<std::tuple<int, std::string>>);
  static_assert(!lx::ExampleType<std::pair<int, void*>>);
  static_assert(!lx::ExampleType<std::map<std::string, int>>);
  SUCCEED();
}
