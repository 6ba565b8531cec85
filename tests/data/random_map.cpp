// Randomness for each record, which depends on seed, epoch and index alone.
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <loadax/core/random.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/catch.hpp"
#include "support/loading.hpp"

namespace lx = loadax;
using loadax_test::numbers;
using loadax_test::worker_counts;

namespace {

struct Draw {
  int sample;
  std::uint64_t first, second;
};

auto draws(std::size_t n, std::uint64_t seed) {
  return numbers(n).random_map(seed, [](int i, lx::CounterRandom& random) {
    const std::uint64_t first = random();
    return Draw{i, first, random()};
  });
}

std::vector<std::uint64_t> drawn(const auto& pass) {
  std::vector<std::uint64_t> result;
  for (const auto& batch : pass)
    for (const auto x : batch[&Draw::first].values()) result.push_back(x);
  return result;
}

}  // namespace

TEST_CASE("a record's random numbers are those of seed, epoch and index") {
  const auto dataset = draws(10, 5);
  for (const std::uint64_t epoch : {0u, 1u, 7u}) {
    const auto view = dataset.for_epoch(epoch);
    for (std::size_t i = 0; i < 10; ++i) {
      lx::CounterRandom expected(5, lx::RandomStream::record, epoch, i);
      const Draw draw = view[i];
      CHECK(draw.sample == static_cast<int>(i));
      CHECK(draw.first == expected());
      CHECK(draw.second == expected());
    }
  }
  CHECK(dataset[3].first == dataset.for_epoch(0)[3].first);
}

TEST_CASE("random numbers of records are equal for any number of workers and batch size") {
  const auto dataset = draws(203, 1).shuffle(4);
  const auto expected = drawn(lx::Dataloader{dataset, {.batch_size = 1}}.epoch(2));
  for (const std::size_t workers : worker_counts)
    for (const std::size_t size : {1u, 16u, 300u}) {
      const lx::Dataloader loader{dataset, {.batch_size = size, .num_workers = workers}};
      CHECK(drawn(loader.epoch(2)) == expected);
    }
}

TEST_CASE("random numbers differ between records, epochs and seeds") {
  std::set<std::uint64_t> seen;
  for (const std::uint64_t seed : {1u, 2u}) {
    const lx::Dataloader loader{draws(100, seed), {.batch_size = 10, .num_workers = 2}};
    for (int epoch = 0; epoch < 3; ++epoch)
      for (const auto x : drawn(loader)) seen.insert(x);
  }
  CHECK(seen.size() == 2 * 3 * 100);
}

TEST_CASE("a record keeps its random numbers in a slice and after another transform") {
  const auto whole = draws(50, 9);
  const auto part = whole.slice(20, 30).map([](Draw d) { return d; });
  for (std::size_t i = 0; i < 10; ++i) CHECK(part[i].first == whole[20 + i].first);
}
