// The Dataloader: what its batches are, and how one goes through them.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <ranges>
#include <utility>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/core/index_permutation.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/loading.hpp"

namespace lx = loadax;
using loadax_test::batches_of;
using loadax_test::contains;
using loadax_test::message_of;
using loadax_test::numbers;
using loadax_test::worker_counts;
using namespace std::chrono_literals;

TEST_CASE("batches are in the dataset's order, each sample exactly once, for all small grids") {
  for (std::size_t n = 0; n <= 12; ++n)
    for (std::size_t batch = 1; batch <= 13; ++batch)
      for (const bool drop_last : {false, true})
        for (const std::size_t workers : {0u, 1u, 3u}) {
          const lx::Dataloader loader{
              numbers(n), {.batch_size = batch, .num_workers = workers, .drop_last = drop_last}};
          const auto batches = batches_of(loader);
          INFO("n " << n << " batch " << batch << " workers " << workers << " drop " << drop_last);
          REQUIRE(batches.size() == n / batch + (!drop_last && n % batch != 0));
          int next = 0;
          for (std::size_t k = 0; k < batches.size(); ++k) {
            CHECK(batches[k].size() == std::min(batch, n - k * batch));
            for (const int sample : batches[k]) CHECK(sample == next++);
          }
        }
}

TEST_CASE("batches are bitwise equal for any number of workers") {
  struct Example {
    std::array<float, 5> image;
    std::vector<float> tokens;
    int label;
  };
  const auto dataset = numbers(203).shuffle(5).map([](int i) {
    const auto x = static_cast<float>(i);
    return Example{{x, x / 3, x / 7, 1, 2}, {x, 1 / (1 + x)}, i};
  });
  std::vector<lx::Batch<Example>> expected;
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{dataset, {.batch_size = 16, .num_workers = workers}};
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      std::size_t k = epoch * 13;
      for (const auto& batch : loader.epoch(epoch)) {
        if (workers == 0)
          expected.push_back(batch);
        else
          CHECK(batch == expected.at(k));
        ++k;
      }
      CHECK(k == (epoch + 1) * 13);
    }
  }
  CHECK(!(expected[0] == expected[13]));
}

TEST_CASE("each loop is the next epoch, and epoch(e) is epoch e") {
  const auto dataset = numbers(40).shuffle(3);
  const lx::Dataloader loader{dataset, {.batch_size = 8}};
  static_assert(std::ranges::input_range<decltype(loader)>);
  const auto first = batches_of(loader), second = batches_of(loader);
  CHECK(first != second);
  CHECK(first == batches_of(loader.epoch(0)));
  CHECK(second == batches_of(loader.epoch(1)));
  CHECK(loader.epoch(7).begin().progress().epoch == 7);
  // A copy goes on by itself.
  const auto copy = loader;
  CHECK(batches_of(copy) == batches_of(loader.epoch(2)));
  CHECK(batches_of(loader) == batches_of(loader.epoch(2)));
  auto other = lx::Dataloader{dataset, {.batch_size = 4}};
  other = loader;
  CHECK(batches_of(other) == batches_of(loader.epoch(3)));
}

TEST_CASE("wrong options are refused when the loader is made") {
  CHECK(contains(
      message_of<lx::ArgumentError>([] { (void)lx::Dataloader{numbers(3), {.batch_size = 0}}; }),
      {"batch_size is 0", "hint:"}));
  CHECK(contains(message_of<lx::ArgumentError>([] {
                   (void)lx::Dataloader{numbers(3), {.batch_size = 1, .prefetch_factor = 0}};
                 }),
                 {"prefetch_factor is 0", "hint:"}));
}

TEST_CASE("the largest options work") {
  const auto most = std::numeric_limits<std::size_t>::max();
  const lx::Dataloader loader{numbers(5),
                              {.batch_size = most, .num_workers = 2, .prefetch_factor = most}};
  CHECK(batches_of(loader) == std::vector<std::vector<int>>{{0, 1, 2, 3, 4}});
  const lx::Dataloader many{numbers(5),
                            {.batch_size = 1, .num_workers = 5, .prefetch_factor = most}};
  CHECK(batches_of(many).size() == 5);
  // No more threads are started than there are rows to load.
  const lx::Dataloader eager{numbers(5), {.batch_size = 2, .num_workers = 1'000'000}};
  CHECK(batches_of(eager).size() == 3);
}

TEST_CASE("a loader over 2^40 shuffled samples starts at once") {
  struct Huge {
    std::size_t size() const { return std::size_t{1} << 40; }
    std::size_t operator[](std::size_t i) const { return i; }
  };
  const auto start = std::chrono::steady_clock::now();
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{lx::dataset(Huge{}).shuffle(7),
                                {.batch_size = 4, .num_workers = workers}};
    const lx::IndexPermutation order(std::uint64_t{1} << 40, 7, 1);
    const auto pass = loader.epoch(1);
    auto it = pass.begin();
    for (std::uint64_t k = 0; k < 3; ++k, ++it)
      for (std::size_t row = 0; row < 4; ++row)
        CHECK(get<0>(*it).values()[row] == order(4 * k + row));
    CHECK(it.progress().batches_total == std::uint64_t{1} << 38);
  }
  CHECK(std::chrono::steady_clock::now() - start < 5s);
}

TEST_CASE("several iterators over one loader are independent") {
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{numbers(30).shuffle(2), {.batch_size = 5, .num_workers = workers}};
    const auto first = batches_of(loader.epoch(0)), second = batches_of(loader.epoch(1));
    auto a = loader.begin(), b = loader.begin(), again = loader.epoch(0).begin();
    for (std::size_t k = 0; k < 6; ++k, ++a, ++b, ++again) {
      CHECK(std::ranges::equal(get<0>(*a).values(), first[k]));
      CHECK(std::ranges::equal(get<0>(*b).values(), second[k]));
      CHECK(std::ranges::equal(get<0>(*again).values(), first[k]));
    }
    CHECK(a == loader.end());
    CHECK(b == loader.end());
  }
}

TEST_CASE("an iterator outlives its loader and its dataset") {
  for (const std::size_t workers : worker_counts) {
    auto it = [&] {
      const lx::Dataloader loader{numbers(50).shuffle(2).map([](int i) { return i + 1; }),
                                  {.batch_size = 5, .num_workers = workers}};
      return loader.begin();
    }();
    int sum = 0;
    for (; it != std::default_sentinel; ++it)
      for (const int x : get<0>(*it).values()) sum += x;
    CHECK(sum == 50 * 51 / 2);
  }
}

TEST_CASE("progress counts what was delivered, not what was loaded ahead") {
  for (const std::size_t workers : worker_counts)
    for (const bool drop_last : {false, true}) {
      const lx::Dataloader loader{
          numbers(22), {.batch_size = 5, .num_workers = workers, .drop_last = drop_last}};
      auto it = loader.begin();
      const std::uint64_t items = drop_last ? 20 : 22, batches = drop_last ? 4 : 5;
      CHECK(it.progress() == lx::Progress{0, 0, items, 0, batches});
      for (std::uint64_t k = 1; it != loader.end(); ++it, ++k) {
        CHECK(it.progress().batches_processed == k - 1);
        (void)*it;
        (void)*it;  // looked at twice, counted once
        CHECK(it.progress() == lx::Progress{0, std::min(5 * k, items), items, k, batches});
      }
      CHECK(it.progress() == lx::Progress{0, items, items, batches, batches});
    }
}

TEST_CASE("the batch that drop_last drops is not loaded") {
  for (const std::size_t workers : worker_counts) {
    std::atomic<int> calls{0}, most{0};
    const lx::Dataloader loader{numbers(23).map([&](int i) {
                                  ++calls;
                                  most = std::max(most.load(), i);
                                  return i;
                                }),
                                {.batch_size = 5, .num_workers = workers, .drop_last = true}};
    CHECK(batches_of(loader).size() == 4);
    CHECK(calls == 20);
    CHECK(most <= 19);
  }
}

TEST_CASE("batches may be passed over, moved from, and changed") {
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{numbers(24), {.batch_size = 4, .num_workers = workers}};
    auto it = loader.begin();
    const lx::Batch<int> kept = std::move(*it);
    ++it;
    ++it;
    CHECK(get<0>(*it).values()[0] == 8);
    get<0>(*it).values()[0] = -1;
    for (++it; it != loader.end(); it++) CHECK(it->rows() == 4);
    CHECK(get<0>(kept).values()[3] == 3);
  }
}

TEST_CASE("a hundred thousand small samples arrive once each") {
  constexpr std::size_t n = 100'000;
  for (const std::size_t workers : {2u, 7u}) {
    const lx::Dataloader loader{numbers(n).shuffle(9),
                                {.batch_size = 3, .num_workers = workers, .drop_last = false}};
    std::vector<char> seen(n);
    std::size_t count = 0;
    for (const auto& batch : loader)
      for (const int sample : get<0>(batch).values()) {
        count += !seen[static_cast<std::size_t>(sample)];
        seen[static_cast<std::size_t>(sample)] = 1;
      }
    CHECK(count == n);
  }
}

TEST_CASE("samples that cannot be copied are loaded") {
  struct Owner {
    std::unique_ptr<int> none;  // makes the example move-only
    std::size_t size() const { return 10; }
    std::unique_ptr<int> operator[](std::size_t i) const {
      return std::make_unique<int>(static_cast<int>(i));
    }
  };
  const auto dataset = lx::dataset(Owner{}).map([](std::unique_ptr<int> p) { return *p * 2; });
  CHECK(batches_of(lx::Dataloader{dataset, {.batch_size = 5, .num_workers = 2}}) ==
        std::vector<std::vector<int>>{{0, 2, 4, 6, 8}, {10, 12, 14, 16, 18}});
}

TEST_CASE("a mask that the consumer sets on a batch is not that of a later one", "[data]") {
  lx::Dataloader loader{lx::SimpleDataset{std::vector<int>(6)}, {.batch_size = 2}};
  std::size_t batches = 0;
  for (auto& batch : loader) {
    CHECK_FALSE(batch.has_mask());
    batch.set_mask(lx::HostArray<bool>({2}));
    ++batches;
  }
  CHECK(batches == 3);
}

TEST_CASE("a moved-from iterator says so", "[data]") {
  lx::Dataloader loader{lx::SimpleDataset{std::vector<int>(6)}, {.batch_size = 2}};
  auto it = loader.begin();
  const auto moved = std::move(it);
  CHECK(moved->rows() == 2);
  const auto moved_from = [](auto use) { return message_of<lx::StateError>(use); };
  CHECK(contains(moved_from([&] { (void)(it == loader.end()); }), {"moved-from", "hint:"}));
  CHECK(contains(moved_from([&] { (void)*it; }), {"moved-from"}));
}
