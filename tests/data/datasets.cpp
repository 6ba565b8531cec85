#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/core/index_permutation.hpp>
#include <loadax/data/dataset.hpp>
#include <loadax/data/epoch_view.hpp>
#include <loadax/data/simple_dataset.hpp>
#include <loadax/data/transforms.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

namespace {

lx::SimpleDataset<int> numbers(int n) {
  std::vector<int> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return lx::SimpleDataset{std::move(values)};
}

/// A user's own dataset: the squares below n, of no class of ours.
struct Squares {
  std::size_t n;
  std::size_t size() const { return n; }
  std::size_t operator[](std::size_t i) const { return i * i; }
};

/// A user's own dataset that is another one in each epoch, and whose view refers to it.
struct Rotated {
  std::vector<int> values;
  struct View {
    const Rotated* all;
    std::size_t by;
    std::size_t size() const { return all->values.size(); }
    int operator[](std::size_t i) const { return all->values[(i + by) % size()]; }
  };
  std::size_t size() const { return values.size(); }
  int operator[](std::size_t i) const { return values[i]; }
  View for_epoch(std::uint64_t epoch) const { return {this, static_cast<std::size_t>(epoch)}; }
};

/// All samples, one by one, after checking that visit() gives the same, from any place.
template <lx::Dataset D>
std::vector<lx::example_t<D>> all(const D& dataset) {
  std::vector<lx::example_t<D>> samples;
  for (std::size_t i = 0; i < dataset.size(); ++i) samples.push_back(dataset[i]);
  for (const std::size_t first : {std::size_t{0}, samples.size() / 3, samples.size()}) {
    std::vector<lx::example_t<D>> visited;
    lx::detail::visit(dataset, first, samples.size() - first, [&](const auto& sample) {
      visited.push_back(sample);
      return true;
    });
    CHECK(visited ==
          std::vector(samples.begin() + static_cast<std::ptrdiff_t>(first), samples.end()));
  }
  return samples;
}

template <class T>
std::vector<T> sorted(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

TEST_CASE("a simple dataset shares its samples between copies") {
  const lx::SimpleDataset dataset{std::vector<std::string>{"a", "b", "c"}};
  const auto copy = dataset;  // NOLINT
  CHECK(all(dataset) == std::vector<std::string>{"a", "b", "c"});
  CHECK(&dataset[1] == &copy[1]);
  static_assert(std::is_same_v<decltype(dataset[0]), const std::string&>);
  const lx::SimpleDataset bits{std::vector<bool>{true, false}};
  CHECK(bits[0] == true);
  CHECK(bits[1] == false);
  CHECK(contains(message_of<lx::IndexError>([&] { (void)dataset[3]; }),
                 {"SimpleDataset: sample 3 of 3", "hint:"}));
  CHECK(contains(
      message_of<lx::IndexError>([&] { dataset.visit(2, 2, [](const auto&) { return true; }); }),
      {"SimpleDataset: sample 3 of 3"}));
}

TEST_CASE("any type with a size and an index is a dataset") {
  static_assert(lx::Dataset<Squares>);
  static_assert(lx::Dataset<std::vector<float>>);
  struct NoSize {
    int operator[](std::size_t) const;
  };
  struct NotConst {
    std::size_t size() const;
    int operator[](std::size_t);
  };
  struct Nothing {
    std::size_t size() const;
    void operator[](std::size_t) const;
  };
  static_assert(!lx::Dataset<NoSize> && !lx::Dataset<NotConst> && !lx::Dataset<Nothing>);
  CHECK(all(lx::dataset(Squares{4})) == std::vector<std::size_t>{0, 1, 4, 9});
  CHECK(all(lx::dataset(Squares{4}).map([](std::size_t x) { return x + 1; })) ==
        std::vector<std::size_t>{1, 2, 5, 10});
  CHECK(all(lx::dataset(std::vector<int>{3, 4})) == std::vector<int>{3, 4});
}

TEST_CASE("map applies its function to each sample when it is asked for") {
  int calls = 0;
  const auto dataset = numbers(5).map([&calls](int x) {
    ++calls;
    return std::to_string(x * 2);
  });
  CHECK(dataset.size() == 5);
  CHECK(calls == 0);
  CHECK(dataset[3] == "6");
  CHECK(calls == 1);
  CHECK(all(dataset.map([](const std::string& s) { return s + "!"; })) ==
        std::vector<std::string>{"0!", "2!", "4!", "6!", "8!"});
}

TEST_CASE("map takes member functions, move-only functions and ones that return references") {
  const auto strings = lx::SimpleDataset{std::vector<std::string>{"a", "bcd"}};
  CHECK(all(strings.map(&std::string::size)) == std::vector<std::size_t>{1, 3});
  auto addend = std::make_unique<int>(10);
  CHECK(all(numbers(2).map([p = std::move(addend)](int x) { return x + *p; })) ==
        std::vector<int>{10, 11});
  struct Inner {
    std::string text;
  };
  const lx::SimpleDataset inner{std::vector<Inner>{{"x"}, {"y"}}};
  CHECK(all(inner.map([](const Inner& i) -> const std::string& { return i.text; })) ==
        std::vector<std::string>{"x", "y"});
}

TEST_CASE("copies of a mapped dataset share a function that is large") {
  std::vector<int> table(1000, 7);
  const auto dataset =
      numbers(3).map([table](int x) { return &table[static_cast<std::size_t>(x)]; });
  const auto copy = dataset;  // NOLINT
  CHECK(dataset[1] == copy[1]);
}

TEST_CASE("shuffle is the permutation of size, seed and epoch") {
  for (const int n : {0, 1, 2, 100, 1000}) {
    const auto dataset = numbers(n).shuffle(7);
    const auto size = static_cast<std::uint64_t>(n);
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      const auto order = all(dataset.for_epoch(epoch));
      const lx::IndexPermutation expected(size, 7, epoch);
      for (std::uint64_t i = 0; i < size; ++i) CHECK(order[i] == static_cast<int>(expected(i)));
    }
    CHECK(all(dataset) == all(dataset.for_epoch(0)));
    CHECK(sorted(all(dataset)) == all(numbers(n)));
  }
  CHECK(all(numbers(100).shuffle(7)) != all(numbers(100).shuffle(8)));
  CHECK_THROWS_AS(numbers(5).shuffle(1)[5], lx::IndexError);
}

TEST_CASE("a view of one epoch outlives the dataset it was made from") {
  auto view = [] {
    const auto dataset = numbers(50).map([](int x) { return x + 1; }).shuffle(3).slice(10, 20);
    return dataset.for_epoch(4);
  }();
  const auto again = numbers(50).map([](int x) { return x + 1; }).shuffle(3).slice(10, 20);
  CHECK(all(view) == all(again.for_epoch(4)));
  auto own = [] { return lx::dataset(Rotated{{1, 2, 3}}).map(std::negate<>()).for_epoch(1); }();
  CHECK(all(own) == std::vector<int>{-2, -3, -1});
}

TEST_CASE("epochs pass through every transform, also to a user's own dataset") {
  const auto dataset = lx::dataset(Rotated{{0, 1, 2, 3, 4, 5}})
                           .map([](int x) { return x * 10; })
                           .slice(1, 5)
                           .split_dataset_by_node({.world_size = 2, .rank = 1});
  CHECK(all(dataset) == std::vector<int>{30, 40});
  CHECK(all(dataset.for_epoch(2)) == std::vector<int>{50, 0});
  // A shuffle on top orders the epoch's view.
  const auto shuffled = lx::dataset(Rotated{{0, 1, 2, 3, 4, 5}}).shuffle(1);
  const lx::IndexPermutation order(6, 1, 2);
  CHECK(shuffled.for_epoch(2)[0] == static_cast<int>((order(0) + 2) % 6));
  static_assert(!lx::EpochDependent<lx::SimpleDataset<int>>);
  static_assert(!lx::EpochDependent<decltype(numbers(3).map(std::negate<>()))>);
  static_assert(
      lx::EpochDependent<decltype(numbers(3).shuffle(1).map(std::negate<>()).slice(0, 1))>);
}

TEST_CASE("views of a stream of epochs are made once and shared") {
  const auto dataset =
      std::make_shared<const lx::ShuffleDataset<lx::SimpleDataset<int>>>(numbers(10), 3);
  lx::EpochViews views(dataset);
  const auto first = views.at(0), second = views.at(1);
  CHECK(views.at(0) == first);
  CHECK(all(*first) == all(dataset->for_epoch(0)));
  CHECK(all(*second) == all(dataset->for_epoch(1)));
  CHECK(all(*views.at(2)) == all(dataset->for_epoch(2)));
  CHECK(all(*views.at(0)) == all(*first));
  // Where more epochs are loaded at a time, more views are kept.
  lx::EpochViews four(dataset, 4);
  const auto kept = four.at(1);
  for (const std::uint64_t epoch : {2, 3, 4}) (void)four.at(epoch);
  CHECK(four.at(1) == kept);
  (void)four.at(5);
  CHECK(four.at(1) != kept);
  const auto plain = std::make_shared<const lx::SimpleDataset<int>>(numbers(3));
  CHECK(lx::make_epoch_view(plain, 5) == plain);
}

TEST_CASE("slice takes a part, and slices of slices are slices") {
  const auto dataset = numbers(10).slice(2, 8);
  CHECK(all(dataset) == std::vector<int>{2, 3, 4, 5, 6, 7});
  CHECK(all(dataset.slice(1, 3)) == std::vector<int>{3, 4});
  CHECK(dataset.slice(3, 3).size() == 0);
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)dataset.slice(3, 7); }),
                 {"samples [3, 7) of a dataset of 6", "hint:"}));
  CHECK_THROWS_AS(dataset.slice(2, 1), lx::ArgumentError);
  CHECK(contains(message_of<lx::IndexError>([&] { (void)dataset[6]; }), {"slice: sample 6 of 6"}));
  CHECK_THROWS_AS(dataset.visit(5, 2, [](int) { return true; }), lx::IndexError);
}

TEST_CASE("parts by node are contiguous, disjoint and covering, the first ones longer") {
  for (int n = 0; n <= 40; ++n)
    for (std::int64_t world = 1; world <= 9; ++world) {
      std::vector<int> together;
      for (std::int64_t rank = 0; rank < world; ++rank) {
        const auto part =
            all(numbers(n).split_dataset_by_node({.world_size = world, .rank = rank}));
        const std::size_t expected =
            static_cast<std::size_t>(n / world) + (rank < n % world ? 1 : 0);
        CHECK(part.size() == expected);
        together.insert(together.end(), part.begin(), part.end());
      }
      CHECK(together == all(numbers(n)));
    }
}

TEST_CASE("a split of no such rank is refused") {
  const auto dataset = numbers(10);
  for (const lx::NodeSplit split :
       {lx::NodeSplit{0, 0}, lx::NodeSplit{-1, 0}, lx::NodeSplit{2, 2}, lx::NodeSplit{2, -1}})
    CHECK(
        contains(message_of<lx::ArgumentError>([&] { (void)dataset.split_dataset_by_node(split); }),
                 {"rank " + std::to_string(split.rank),
                  "world_size " + std::to_string(split.world_size), "hint:"}));
}

TEST_CASE("every transform's result can be split, and nested splits partition it") {
  const auto check = [](const auto& dataset) {
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      std::vector<int> together;
      for (std::int64_t node = 0; node < 3; ++node)
        for (std::int64_t process = 0; process < 2; ++process) {
          const auto part = dataset.split_dataset_by_node({.world_size = 3, .rank = node})
                                .split_dataset_by_node({.world_size = 2, .rank = process});
          const auto samples = all(lx::detail::for_epoch(part, epoch));
          together.insert(together.end(), samples.begin(), samples.end());
        }
      CHECK(together == all(lx::detail::for_epoch(dataset, epoch)));
    }
  };
  check(numbers(17));
  check(numbers(17).map([](int x) { return x + 100; }));
  check(numbers(17).shuffle(2));
  check(numbers(17).slice(1, 15));
  check(lx::dataset(Rotated{{4, 5, 6, 7, 8, 9, 10}}));
}

TEST_CASE("split and slice commute") {
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    const lx::NodeSplit split{.world_size = 2, .rank = rank};
    const auto a = numbers(20).shuffle(1).split_dataset_by_node(split).slice(2, 7);
    const auto b = numbers(20).shuffle(1).slice(2 + 10 * static_cast<std::size_t>(rank),
                                                7 + 10 * static_cast<std::size_t>(rank));
    CHECK(all(a.for_epoch(1)) == all(b.for_epoch(1)));
  }
}

TEST_CASE("shuffled before the split, a node sees other samples in each epoch") {
  const auto part = numbers(100).shuffle(7).split_dataset_by_node({.world_size = 4, .rank = 2});
  std::set<int> seen;
  for (std::uint64_t epoch = 0; epoch < 12; ++epoch)
    for (const int sample : all(part.for_epoch(epoch))) seen.insert(sample);
  CHECK(seen.size() > 90);
}
