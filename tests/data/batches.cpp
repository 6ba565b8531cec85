#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <loadax/array/host_array.hpp>
#include <loadax/array/structure.hpp>
#include <loadax/array/view.hpp>
#include <loadax/core/error.hpp>
#include <loadax/data/batch.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

namespace {

/// The one batch of all samples.
template <class Example>
lx::Batch<Example> batch_of(std::vector<Example> samples) {
  const lx::Dataloader loader{lx::SimpleDataset{std::move(samples)}, {.batch_size = 100}};
  return *loader.begin();
}

struct Digit {
  std::array<float, 4> image;
  int label;
};

struct TwoOfOneType {
  std::array<float, 2> image;
  std::array<float, 2> weight;
  float bias, scale;
};

enum class Colour : std::uint8_t { red, green };

struct Kinds {
  bool flag;
  std::int64_t number;
  Colour colour;
  std::complex<float> wave;
  std::array<std::array<std::int16_t, 2>, 3> nested;
  double grid[2][3];
  std::vector<float> tokens;
  lx::HostArray<float> matrix;
  std::array<std::complex<double>, 2> waves;
};

struct Pixel {  // three elements
  std::uint8_t r, g, b;
};

struct Half {  // one element of its own type
  std::uint16_t bits;
  bool operator==(const Half&) const = default;
};

struct Percent {  // becomes a float of the same size
  std::int32_t value;
};

struct Own {
  Pixel pixel;
  std::array<Pixel, 2> pixels;
  Half half;
  std::vector<Half> halves;
  std::array<Percent, 2> percents;
};

struct Sixteen {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};

template <class T>
std::vector<T> values(const lx::HostArray<T>& array) {
  return {array.values().begin(), array.values().end()};
}

}  // namespace

template <>
struct loadax::field<Pixel> {
  using element = std::uint8_t;
  static constexpr lx::Shape shape() { return {3}; }
  static void copy(const Pixel& from, std::uint8_t* to) {
    to[0] = from.r;
    to[1] = from.g;
    to[2] = from.b;
  }
};
template <>
struct loadax::field<Percent> {
  using element = float;
  static constexpr lx::Shape shape() { return {}; }
  static void copy(const Percent& from, float* to) { *to = static_cast<float>(from.value) / 100; }
};
template <>
struct loadax::field<Half> : lx::scalar_field<Half> {};

TEST_CASE("an aggregate's fields become arrays, reached by member pointer, index or binding") {
  auto batch = batch_of<Digit>({{{1, 2, 3, 4}, 7}, {{5, 6, 7, 8}, 9}, {{0, 0, 0, 1}, 2}});
  CHECK(batch.rows() == 3);
  CHECK(batch[&Digit::image].shape() == lx::Shape{3, 4});
  CHECK(batch[&Digit::label].shape() == lx::Shape{3});
  CHECK(values(batch[&Digit::image]) == std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 1});
  CHECK(values(batch[&Digit::label]) == std::vector<int>{7, 9, 2});
  CHECK(&batch.get<1>() == &batch[&Digit::label]);
  CHECK(&get<1>(batch) == &batch[&Digit::label]);
  CHECK(&get<&Digit::label>(batch) == &batch[&Digit::label]);
  CHECK(&get<&Digit::label>(std::as_const(batch)) == &batch[&Digit::label]);
  auto& [image, label] = batch;
  CHECK(&image == &batch[&Digit::image]);
  label.values()[0] = 5;
  CHECK(batch[&Digit::label].values()[0] == 5);
  const auto generic = [](const auto& b) { return get<0>(b).size(); };
  CHECK(generic(batch) == 12);
  auto [moved_image, moved_label] = std::move(batch);
  CHECK(moved_image.size() == 12);
  static_assert(std::tuple_size_v<lx::Batch<Digit>> == 2);
  static_assert(std::is_same_v<std::tuple_element_t<1, lx::Batch<Digit>>, lx::HostArray<int>>);
}

TEST_CASE("member pointers tell fields of one type apart") {
  const auto batch = batch_of<TwoOfOneType>({{{1, 2}, {3, 4}, 5, 6}});
  CHECK(values(batch[&TwoOfOneType::image]) == std::vector<float>{1, 2});
  CHECK(values(batch[&TwoOfOneType::weight]) == std::vector<float>{3, 4});
  CHECK(values(batch[&TwoOfOneType::bias]) == std::vector<float>{5});
  CHECK(values(batch[&TwoOfOneType::scale]) == std::vector<float>{6});
  CHECK(values(get<&TwoOfOneType::weight>(batch)) == std::vector<float>{3, 4});
  CHECK(values(get<&TwoOfOneType::scale>(batch)) == std::vector<float>{6});
}

TEST_CASE("fields of every kind are stacked") {
  std::vector<Kinds> samples;
  for (int i = 0; i < 2; ++i) {
    const auto x = static_cast<float>(i);
    const auto s = static_cast<std::int16_t>(i);
    samples.push_back({i == 1,
                       -i,
                       i == 0 ? Colour::red : Colour::green,
                       {x, 1},
                       {{{s, 1}, {2, 3}, {4, 5}}},
                       {{x, 1, 2}, {3, 4, 5}},
                       {x, x, x},
                       lx::HostArray<float>({2, 1}, {x, 9}),
                       {{{x, 0}, {0, x}}}});
  }
  const auto batch = batch_of(samples);
  CHECK(values(batch[&Kinds::flag]) == std::vector<bool>{false, true});
  CHECK(values(batch[&Kinds::number]) == std::vector<std::int64_t>{0, -1});
  CHECK(values(batch[&Kinds::colour]) == std::vector<Colour>{Colour::red, Colour::green});
  CHECK(batch[&Kinds::wave].values()[1] == std::complex<float>(1, 1));
  CHECK(batch[&Kinds::nested].shape() == lx::Shape{2, 3, 2});
  CHECK(values(batch[&Kinds::nested]) ==
        std::vector<std::int16_t>{0, 1, 2, 3, 4, 5, 1, 1, 2, 3, 4, 5});
  CHECK(batch[&Kinds::grid].shape() == lx::Shape{2, 2, 3});
  CHECK(values(batch[&Kinds::grid]) == std::vector<double>{0, 1, 2, 3, 4, 5, 1, 1, 2, 3, 4, 5});
  CHECK(batch[&Kinds::tokens].shape() == lx::Shape{2, 3});
  CHECK(values(batch[&Kinds::tokens]) == std::vector<float>{0, 0, 0, 1, 1, 1});
  CHECK(batch[&Kinds::matrix].shape() == lx::Shape{2, 2, 1});
  CHECK(values(batch[&Kinds::matrix]) == std::vector<float>{0, 9, 1, 9});
  CHECK(batch[&Kinds::waves].shape() == lx::Shape{2, 2});
  CHECK(values(get<&Kinds::grid>(batch)).size() == 12);
}

TEST_CASE("a user's own types are fields through loadax::field") {
  const auto batch =
      batch_of<Own>({{{1, 2, 3}, {{{4, 5, 6}, {7, 8, 9}}}, {10}, {{11}, {12}}, {{{50}, {25}}}}});
  CHECK(batch[&Own::pixel].shape() == lx::Shape{1, 3});
  CHECK(batch[&Own::pixels].shape() == lx::Shape{1, 2, 3});
  CHECK(values(batch[&Own::pixels]) == std::vector<std::uint8_t>{4, 5, 6, 7, 8, 9});
  CHECK(values(batch[&Own::half]) == std::vector<Half>{{10}});
  CHECK(values(batch[&Own::percents]) == std::vector<float>{0.5f, 0.25f});
  CHECK(values(batch[&Own::halves]) == std::vector<Half>{{11}, {12}});
}

TEST_CASE("tuples and pairs are examples") {
  const auto pairs = batch_of<std::pair<std::array<float, 2>, int>>({{{1, 2}, 3}, {{4, 5}, 6}});
  CHECK(get<0>(pairs).shape() == lx::Shape{2, 2});
  CHECK(values(get<1>(pairs)) == std::vector<int>{3, 6});
  const auto tuples = batch_of<std::tuple<int, double, bool>>({{1, 2.5, true}});
  CHECK(values(get<1>(tuples)) == std::vector<double>{2.5});
  CHECK(values(get<2>(tuples)) == std::vector<bool>{true});
}

TEST_CASE("a number, an array or a sequence alone is an example of one field") {
  CHECK(values(batch_of<float>({1, 2, 3}).get<0>()) == std::vector<float>{1, 2, 3});
  CHECK(batch_of<std::array<int, 2>>({{1, 2}, {3, 4}}).get<0>().shape() == lx::Shape{2, 2});
  CHECK(batch_of<std::vector<float>>({{1, 2, 3}}).get<0>().shape() == lx::Shape{1, 3});
  CHECK(batch_of<lx::HostArray<double>>({lx::HostArray<double>({2, 2})}).get<0>().shape() ==
        lx::Shape{1, 2, 2});
  const std::vector<std::uint16_t> tokens{1, 2, 3, 4, 5};
  const std::span<const std::uint16_t> view(tokens);
  const auto windows = batch_of<std::span<const std::uint16_t>>({view.first(4), view.last(4)});
  CHECK(values(windows.get<0>()) == std::vector<std::uint16_t>{1, 2, 3, 4, 2, 3, 4, 5});
  CHECK(values(batch_of<bool>({true, false}).get<0>()) == std::vector<bool>{true, false});
  CHECK(values(batch_of<std::vector<bool>>({{true, false}}).get<0>()) ==
        std::vector<bool>{true, false});
  CHECK(batch_of<std::vector<std::array<float, 3>>>({{{1, 2, 3}, {4, 5, 6}}}).get<0>().shape() ==
        lx::Shape{1, 2, 3});
}

TEST_CASE("an example has up to sixteen fields") {
  const auto batch = batch_of<Sixteen>({{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}});
  CHECK(lx::Batch<Sixteen>::fields == 16);
  CHECK(batch[&Sixteen::p].values()[0] == 16);
  CHECK(get<&Sixteen::a>(batch).values()[0] == 1);
}

TEST_CASE("empty rows are rows") {
  CHECK(batch_of<std::vector<int>>({{}, {}}).get<0>().shape() == lx::Shape{2, 0});
  CHECK(batch_of<std::array<int, 0>>({{}, {}, {}}).get<0>().shape() == lx::Shape{3, 0});
  using None = std::array<std::array<int, 0>, 2>;
  CHECK(batch_of<None>({None{}}).get<0>().shape() == lx::Shape{1, 2, 0});
}

TEST_CASE("samples of two shapes in a batch are an error that names the sample and both shapes") {
  struct Text {
    int label;
    std::vector<int> tokens;
  };
  std::vector<Text> samples(8, {1, {1, 2, 3}});
  samples[5].tokens = {1, 2};
  for (const std::size_t workers : {0u, 1u, 2u, 7u}) {
    const lx::Dataloader loader{lx::SimpleDataset{samples},
                                {.batch_size = 4, .num_workers = workers}};
    auto it = loader.begin();
    CHECK((*it)[&Text::tokens].shape() == lx::Shape{4, 3});
    ++it;
    lx::set_log_sink([](lx::LogLevel, std::string_view) {});
    CHECK(contains(
        message_of<lx::ArgumentError>([&] { (void)*it; }),
        {"sample 5: field 'tokens' has shape [2]", "sample 4 in the same batch has [3]", "hint:"}));
    lx::set_log_sink({});
    REQUIRE(it.failure() != nullptr);
    CHECK(it.failure()->sample == 5);
    CHECK(it.failure()->stage == lx::LoadStage::collate);
  }
  // From one batch to the next, shapes may differ.
  samples[5].tokens = {1, 2, 3};
  for (std::size_t i = 4; i < 8; ++i) samples[i].tokens = {1};
  const lx::Dataloader loader{lx::SimpleDataset{samples}, {.batch_size = 4, .num_workers = 2}};
  auto it = loader.begin();
  CHECK((*it)[&Text::tokens].shape() == lx::Shape{4, 3});
  CHECK((*++it)[&Text::tokens].shape() == lx::Shape{4, 1});
}

TEST_CASE("an array of more dimensions than can be held is an error") {
  const lx::SimpleDataset deep{
      std::vector<lx::HostArray<int>>{lx::HostArray<int>(lx::Shape::filled(8, 1))}};
  const lx::Dataloader loader{deep, {.batch_size = 1}};
  auto it = loader.begin();
  lx::set_log_sink([](lx::LogLevel, std::string_view) {});
  CHECK(contains(message_of<lx::NotSupportedError>([&] { (void)*it; }), {"9 values", "8"}));
  lx::set_log_sink({});
}

TEST_CASE("a batch is a structure whose leaves are its fields and its mask") {
  auto batch = batch_of<Digit>({{{1, 2, 3, 4}, 7}});
  std::vector<std::string> paths;
  lx::for_each_leaf([&](const lx::LeafPath& path, const auto&) { paths.push_back(path.str()); },
                    batch);
  CHECK(paths == std::vector<std::string>{"image", "label"});
  CHECK(!batch.has_mask());
  CHECK(contains(message_of<lx::StateError>([&] { (void)batch.mask(); }), {"no mask", "hint:"}));
  batch.set_mask(lx::HostArray<bool>({1}, {true}));
  const auto views = lx::map_structure<lx::ConstView>(
      [](const lx::LeafPath&, const auto& leaf) {
        using Leaf = std::remove_cvref_t<decltype(leaf)>;
        return lx::ConstView<typename Leaf::value_type>(leaf);
      },
      std::as_const(batch));
  static_assert(std::is_same_v<decltype(views), const lx::Batch<Digit, lx::ConstView>>);
  CHECK(views[&Digit::label].values()[0] == 7);
  CHECK(views[&Digit::image].data() == batch[&Digit::image].data());
  CHECK(views.mask().values()[0] == true);
  // A companion is another batch, or one value for all leaves.
  int leaves = 0;
  const int one = 1;
  lx::for_each_leaf(
      [&](const lx::LeafPath&, const auto& leaf, const auto& other, int value) {
        CHECK(leaf.data() == other.data());
        leaves += value;
      },
      batch, views, one);
  CHECK(leaves == 3);
  paths.clear();
  auto numbers = batch_of<std::pair<int, float>>({{1, 2.f}});
  lx::for_each_leaf([&](const lx::LeafPath& path, const auto&) { paths.push_back(path.str()); },
                    numbers);
  CHECK(paths == std::vector<std::string>{"[0]", "[1]"});
}

TEST_CASE("batches are equal when their arrays and masks are") {
  const auto a = batch_of<Digit>({{{1, 2, 3, 4}, 7}});
  auto b = a;
  CHECK(a == b);
  b.set_mask(lx::HostArray<bool>({1}, {true}));
  CHECK(!(a == b));
}
