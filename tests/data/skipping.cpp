// The engine's ends: skipping batches, going beyond the last, and sources that are not as they say.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/core/random.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/engine.hpp>
#include <loadax/data/host_sink.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/loading.hpp"
#include "support/quiet.hpp"
#include "support/seed.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;
using loadax_test::QuietLog;
using loadax_test::worker_counts;

namespace {

/// Sample i is [i, i], read in counted loads, of which one may be slow.
struct Pairs {
  std::atomic<std::size_t>* loads = nullptr;
  std::atomic<bool>* hold = nullptr;
  std::size_t held = std::size_t(-1);
  std::size_t size() const { return 1'000'000'000; }
  std::vector<std::size_t> operator[](std::size_t i) const {
    if (loads) ++*loads;
    if (hold && i == held) hold->wait(true);
    return {i, i};
  }
};

/// Batches of `row_count` samples. Of batch `padded`, the first two rows are padding, or all where
/// it is `all_padding`; then it may tell a sample that is none of its own.
struct Batches {
  static constexpr std::uint64_t never = lx::unbounded_batches;
  struct Work {
    Pairs data;
    std::uint64_t first = 0;
    std::size_t row_count = 0;
    std::size_t padded_rows = 0;
    bool tells = false;
    const Pairs& dataset() const { return data; }
    std::size_t rows() const { return row_count; }
    std::uint64_t position(std::size_t row) const {
      return row < padded_rows ? lx::no_sample : first + row;
    }
    std::size_t shape_samples() const { return tells ? 1 : rows(); }
    std::uint64_t shape_sample(std::size_t i) const { return tells ? first + 3 : position(i); }
  };
  Pairs data = {};
  std::uint64_t count = never;
  std::size_t row_count = 4;
  std::uint64_t padded = never, too_long = never, empty = never;
  bool all_padding = false, tells = false;

  std::uint64_t batches() const { return count; }
  std::size_t max_rows() const { return row_count; }
  Work batch(std::uint64_t k) const {
    const std::size_t rows = k == too_long ? row_count + 1 : k == empty ? 0 : row_count;
    const std::size_t padding = k != padded ? 0 : all_padding ? rows : 2;
    return {data, k * row_count, rows, padding, tells};
  }
};

using Example = std::vector<std::size_t>;
using Sink = lx::HostSink<Example>;
using Engine = lx::LoaderEngine<Batches, Sink>;

/// Whether the current batch holds the samples of its number.
bool is_right(Engine& engine) {
  const auto& batch = engine.current().batch;
  const auto values = batch.get<0>().values();
  if (batch.get<0>().shape() != lx::Shape{4, 2}) return false;
  for (std::size_t i = 0; i < 8; ++i)
    if (values[i] != engine.batch() * 4 + i / 2) return false;
  return true;
}

}  // namespace

TEST_CASE("after any skips, each batch is the one of its number") {
  const auto seed = loadax_test::seed();
  INFO("seed " << seed);
  lx::CounterRandom random(seed);
  for (const std::size_t workers : worker_counts)
    for (const std::size_t depth : {1u, 2u, 5u, 16u}) {
      INFO("workers " << workers << " depth " << depth);
      Engine engine({}, Sink(), {.num_workers = workers, .depth = depth});
      std::uint64_t at = 0;
      for (int step = 0; step < 300; ++step) {
        switch (random() % 4) {
          case 0:
            at += random() % 24;
            engine.skip_to(at);
            break;
          case 1:
            engine.next();
            ++at;
            break;
          case 2:
            engine.skip_to(at - std::min<std::uint64_t>(at, 3));  // behind: nothing happens
            break;
          default:
            REQUIRE(is_right(engine));
            engine.next();
            ++at;
        }
        REQUIRE(engine.batch() == at);
      }
      REQUIRE(is_right(engine));
    }
}

TEST_CASE("skipped batches are not loaded") {
  for (const std::size_t workers : worker_counts) {
    INFO("workers " << workers);
    const std::size_t depth = 2 * workers + 1;
    std::atomic<std::size_t> loads{0};
    Engine engine({.data = {&loads}}, Sink(), {.num_workers = workers, .depth = depth});
    REQUIRE(is_right(engine));
    engine.skip_to(100'000'000);
    REQUIRE(is_right(engine));
    engine.skip_to(200'000'000);
    REQUIRE(is_right(engine));
    CHECK(loads <= 3 * depth * 4);
    CHECK(engine.batches_delivered() == 3);
    CHECK(engine.rows_delivered() == 12);
  }
}

TEST_CASE("of a batch that is being loaded when it is skipped, the rest is not loaded") {
  std::atomic<std::size_t> loads{0};
  std::atomic<bool> hold{true};
  // One worker takes a batch of 4000 in quarters; it is held at sample 10 of the first.
  Engine engine({.data = {&loads, &hold, 10}, .row_count = 4000}, Sink(),
                {.num_workers = 1, .depth = 1});
  while (loads < 11) std::this_thread::yield();
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    hold = false;
    hold.notify_all();
  });
  engine.skip_to(Batches::never);
  release.join();
  CHECK(engine.done());
  CHECK(loads == 11);
}

TEST_CASE("failures of skipped batches are not told") {
  const QuietLog quiet;
  for (const std::size_t workers : worker_counts) {
    Engine engine({.too_long = 1}, Sink(), {.num_workers = workers, .depth = 3});
    REQUIRE(is_right(engine));
    engine.skip_to(2);
    REQUIRE(is_right(engine));
    CHECK(engine.failure() == nullptr);
    engine.skip_to(4);
    REQUIRE(is_right(engine));
  }
  CHECK(quiet.lines.empty());
}

TEST_CASE("beyond the last batch there is an error, not a wait") {
  for (const std::size_t workers : worker_counts) {
    Engine engine({.count = 2}, Sink(), {.num_workers = workers, .depth = 2});
    engine.skip_to(1);
    REQUIRE(is_right(engine));
    engine.skip_to(7);
    CHECK(engine.done());
    CHECK(engine.batch() == 2);
    CHECK(contains(message_of<lx::StateError>([&] { (void)engine.current(); }),
                   {"no batch 2", "end()", "hint:"}));
    CHECK(contains(message_of<lx::StateError>([&] { engine.next(); }), {"no batch 2", "hint:"}));

    const lx::Dataloader loader{lx::SimpleDataset<int>{{1, 2, 3}},
                                {.batch_size = 2, .num_workers = workers}};
    auto it = loader.begin();
    for (int k = 0; k < 2; ++k) ++it;
    REQUIRE(it == loader.end());
    CHECK(contains(message_of<lx::StateError>([&] { (void)*it; }), {"no batch 2", "hint:"}));
    CHECK(contains(message_of<lx::StateError>([&] { ++it; }), {"no batch 2", "hint:"}));
    CHECK(it.progress().batches_processed == 0);
  }
}

TEST_CASE("a batch without a sample in row 0 takes its shapes from another row's") {
  for (const std::size_t workers : worker_counts) {
    Engine engine({.count = 3, .row_count = 16, .padded = 1}, Sink(true),
                  {.num_workers = workers, .depth = 2});
    for (; !engine.done(); engine.next()) {
      const std::uint64_t first = engine.batch() * 16;
      const auto& batch = engine.current().batch;
      REQUIRE(batch.get<0>().shape() == lx::Shape{16, 2});
      for (std::size_t row = 0; row < 16; ++row) {
        const bool padded = engine.batch() == 1 && row < 2;
        CHECK(batch.mask().values()[row] == !padded);
        CHECK(batch.get<0>().values()[2 * row + 1] == (padded ? 0 : first + row));
      }
    }
    CHECK(engine.batches_delivered() == 3);
  }
}

TEST_CASE("a batch of padding takes its shapes from the sample that it tells, or fails") {
  const QuietLog quiet;
  for (const bool tells : {true, false})
    for (const std::size_t workers : worker_counts) {
      Engine engine({.count = 3, .padded = 1, .all_padding = true, .tells = tells}, Sink(),
                    {.num_workers = workers, .depth = 2});
      for (; !engine.done(); engine.next()) {
        if (engine.batch() != 1) {
          CHECK(is_right(engine));
        } else if (tells) {
          CHECK(engine.current().batch.get<0>() == lx::HostArray<std::size_t>({4, 2}));
        } else {
          CHECK(contains(message_of<lx::StateError>([&] { (void)engine.current(); }),
                         {"batch 1 has no sample to take its shapes from", "rows", "hint:"}));
          CHECK(engine.failure()->sample == lx::no_sample);
        }
      }
      CHECK(engine.batches_delivered() == (tells ? 3 : 2));
    }
}

TEST_CASE("a batch of more rows than its source said, or of none, is an error") {
  const QuietLog quiet;
  for (const std::size_t workers : worker_counts) {
    Engine engine({.count = 3, .too_long = 0, .empty = 1}, Sink(),
                  {.num_workers = workers, .depth = 2});
    CHECK(contains(message_of<lx::StateError>([&] { (void)engine.current(); }),
                   {"batch 0 has 5 rows", "1 to 4", "hint:"}));
    engine.next();
    CHECK(contains(message_of<lx::StateError>([&] { (void)engine.current(); }),
                   {"batch 1 has 0 rows", "1 to 4", "hint:"}));
    engine.next();
    CHECK(is_right(engine));
  }
}
