// What becomes of samples that cannot be loaded: raise, skip, retry.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/core/random.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/loading.hpp"
#include "support/quiet.hpp"
#include "support/seed.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;
using loadax_test::Mine;
using loadax_test::numbers;
using loadax_test::QuietLog;
using loadax_test::worker_counts;

namespace {

/// Samples that throw `failures[i]` times before they can be had; all tries are counted.
struct Flaky {
  static constexpr int always = 1 << 20;
  std::vector<int> failures;
  std::vector<std::atomic<int>> tries;

  explicit Flaky(std::vector<int> f) : failures(std::move(f)), tries(failures.size()) {}

  void load(std::size_t i) {
    if (tries[i]++ < failures[i]) throw Mine(static_cast<int>(i));
  }
};

std::shared_ptr<Flaky> flaky(std::vector<int> failures) {
  return std::make_shared<Flaky>(std::move(failures));
}

/// Sample i as the number i + 1.
auto fixed(std::shared_ptr<Flaky> samples) {
  return numbers(samples->failures.size()).map([samples](int i) {
    samples->load(static_cast<std::size_t>(i));
    return i + 1;
  });
}
/// Sample i as the text [i + 1, i + 1], whose shape only the sample tells.
auto open(std::shared_ptr<Flaky> samples) {
  return fixed(std::move(samples)).map([](int i) { return std::vector<int>(2, i); });
}

/// Each row of a pass: its first number, or -1 where the mask says that it has no sample.
std::vector<int> rows_of(const auto& pass) {
  std::vector<int> rows;
  for (const auto& batch : pass) {
    const auto& leaf = get<0>(batch);
    const std::size_t size = leaf.size() / batch.rows();
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      for (std::size_t i = 0; i < size; ++i)
        if (leaf.values()[row * size + i] != leaf.values()[row * size])
          throw std::logic_error("a row is torn");
      const int value = leaf.values()[row * size];
      if (!batch.mask().values()[row] && value != 0) throw std::logic_error("no zero row");
      rows.push_back(batch.mask().values()[row] ? value : -1);
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("with skip, a sample that cannot be loaded is a masked row, and batches stay whole") {
  const QuietLog quiet;
  std::vector<int> failures(18, 0);
  for (const std::size_t bad : {0u, 3u, 8u, 9u, 10u, 11u, 17u}) failures[bad] = Flaky::always;
  const std::vector<int> expected{-1, 2, 3, -1, 5, 6, 7, 8, -1, -1, -1, -1, 13, 14, 15, 16, 17, -1};
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{
        fixed(flaky(failures)),
        {.batch_size = 4, .num_workers = workers, .on_error = lx::OnError::skip()}};
    CHECK(rows_of(loader) == expected);
    auto it = loader.begin();
    for (std::uint64_t k = 0; it != loader.end(); ++it, ++k) CHECK(it->rows() == (k < 4 ? 4 : 2));
    CHECK(it.progress().items_processed == 18);
    CHECK(it.statistics().samples == 11);
    CHECK(it.statistics().skipped == 7);
    CHECK(it.failure() == nullptr);
  }
}

TEST_CASE("with skip, the shapes of a batch are those of its first sample that can be loaded") {
  const QuietLog quiet;
  for (const std::size_t workers : worker_counts)
    for (std::size_t good = 0; good < 30; ++good) {
      INFO("workers " << workers << " good " << good);
      std::vector<int> failures(60, 0);
      for (std::size_t i = 0; i < 30; ++i) failures[i] = i == good ? 0 : Flaky::always;
      const lx::Dataloader loader{
          open(flaky(failures)),
          {.batch_size = 30, .num_workers = workers, .on_error = lx::OnError::skip()}};
      const auto rows = rows_of(loader);
      REQUIRE(rows.size() == 60);
      for (std::size_t i = 0; i < 60; ++i)
        CHECK(rows[i] == (i == good || i >= 30 ? static_cast<int>(i) + 1 : -1));
    }
}

TEST_CASE("a batch all of whose samples are skipped is an error where nothing tells its shapes") {
  const QuietLog quiet;
  std::vector<int> failures(24, 0);
  for (std::size_t i = 8; i < 16; ++i) failures[i] = Flaky::always;
  for (const std::size_t workers : worker_counts) {
    const lx::DataloaderOptions options{
        .batch_size = 8, .num_workers = workers, .on_error = lx::OnError::skip()};
    const lx::Dataloader loader{open(flaky(failures)), options};
    auto it = loader.begin();
    CHECK(get<0>(*it).values()[15] == 8);
    ++it;
    CHECK(contains(message_of<lx::StateError>([&] { (void)*it; }),
                   {"batch 1 has no sample to take its shapes from", "hint:", "skipped"}));
    ++it;
    CHECK(get<0>(*it).values()[0] == 17);
    // Where the type tells them, it is a batch of masked rows.
    std::size_t masked = 0;
    for (const int row : rows_of(lx::Dataloader{fixed(flaky(failures)), options}))
      masked += row == -1;
    CHECK(masked == 8);
  }
}

TEST_CASE("with retry, a sample is tried again so many times, and no more") {
  const QuietLog quiet;
  for (const std::size_t workers : worker_counts) {
    const auto check = [&](auto make) {
      const auto samples = flaky({2, 0, 0, 3, 0, 0, 0, 4});
      const lx::Dataloader loader{
          make(samples),
          {.batch_size = 2, .num_workers = workers, .on_error = lx::OnError::retry(3)}};
      auto it = loader.begin();
      for (int k = 0; k < 3; ++k, ++it) {
        CHECK_FALSE(it->has_mask());
        CHECK(get<0>(*it).values()[0] == 2 * k + 1);
      }
      CHECK_THROWS_AS(*it, Mine);
      CHECK(it.failure()->sample == 7);
      CHECK(it.failure()->stage == lx::LoadStage::transform);
      const auto counted = it.statistics();
      CHECK(counted.retried == 2 + 3 + 3);
      CHECK(counted.skipped == 0);
      std::vector<int> tries;
      for (const auto& t : samples->tries) tries.push_back(t);
      CHECK(tries == std::vector<int>{3, 1, 1, 4, 1, 1, 1, 4});
    };
    check([](auto samples) { return fixed(samples); });
    check([](auto samples) { return open(samples); });
  }
}

TEST_CASE("with retry and then skip, what cannot be loaded after all is masked") {
  const QuietLog quiet;
  for (const std::size_t workers : worker_counts) {
    const auto samples = flaky({2, 0, 3, 0});
    const lx::Dataloader loader{
        open(samples),
        {.batch_size = 4, .num_workers = workers, .on_error = lx::OnError::retry(2).then_skip()}};
    CHECK(rows_of(loader) == std::vector<int>{1, 2, -1, 4});
    CHECK(samples->tries[0] == 3);
    CHECK(samples->tries[2] == 3);
  }
}

TEST_CASE("policies hold for the source, a transform and collating alike") {
  const QuietLog quiet;
  struct Broken {
    std::size_t size() const { return 6; }
    std::vector<int> operator[](std::size_t i) const {
      if (i == 1) throw std::runtime_error("disk");
      return std::vector<int>(i == 4 ? 3 : 2, static_cast<int>(i));  // 4 has another shape
    }
  };
  const auto dataset = lx::dataset(Broken{}).map([](std::vector<int> x) {
    if (x[0] == 2) throw Mine(2);
    return x;
  });
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{
        dataset, {.batch_size = 6, .num_workers = workers, .on_error = lx::OnError::skip()}};
    CHECK(rows_of(loader) == std::vector<int>{0, -1, -1, 3, -1, 5});
  }
  const auto has = [&](const char* text) {
    for (const auto& line : quiet.lines)
      if (line.find(text) != std::string::npos) return true;
    return false;
  };
  CHECK(has("stage source, sample 1: disk"));
  CHECK(has("stage transform, sample 2: mine"));
  CHECK(has("stage collate, sample 4: sample 4: field '0' has shape [3]"));
}

TEST_CASE("skipped samples are logged once each, as long as they are few") {
  QuietLog quiet;
  for (const std::size_t workers : worker_counts)
    for (const std::size_t bad : {3u, 20u, 21u, 400u}) {
      quiet.lines.clear();
      const lx::Dataloader loader{
          fixed(flaky(std::vector<int>(bad, Flaky::always))),
          {.batch_size = 10, .num_workers = workers, .on_error = lx::OnError::skip()}};
      CHECK(rows_of(loader) == std::vector<int>(bad, -1));
      CHECK(quiet.lines.size() == std::min<std::size_t>(bad, 21));
      // Whose line comes last is chance.
      const auto more = std::ranges::count_if(quiet.lines, [](const std::string& line) {
        return line.find("statistics()") != std::string::npos;
      });
      CHECK(more == (bad > 20 ? 1 : 0));
    }
}

TEST_CASE("what is delivered under a policy depends on neither workers nor time") {
  const QuietLog quiet;
  const auto seed = loadax_test::seed();
  INFO("seed " << seed);
  lx::CounterRandom random(seed);
  for (int round = 0; round < 60; ++round) {
    std::vector<int> failures(1 + random() % 60);
    for (int& f : failures) f = random() % 3 == 0 ? static_cast<int>(random() % 5) : 0;
    const auto retries = static_cast<int>(random() % 4);
    const std::size_t batch_size = 1 + random() % 16;
    std::vector<int> expected;
    for (std::size_t i = 0; i < failures.size(); ++i)
      expected.push_back(failures[i] > retries ? -1 : static_cast<int>(i) + 1);
    for (const std::size_t workers : worker_counts) {
      INFO("round " << round << " workers " << workers);
      const auto samples = flaky(failures);
      const lx::Dataloader loader{
          fixed(samples),
          {.batch_size = batch_size,
           .num_workers = workers,
           .on_error = lx::OnError::retry(static_cast<std::size_t>(retries)).then_skip()}};
      REQUIRE(rows_of(loader) == expected);
      for (std::size_t i = 0; i < failures.size(); ++i)
        CHECK(samples->tries[i] == std::min(failures[i], retries) + 1);
    }
  }
}
