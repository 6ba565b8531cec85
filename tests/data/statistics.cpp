// What a loader counts, and where it says that time goes.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <loadax/data/dataloader.hpp>
#include <loadax/data/loader_statistics.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/catch.hpp"
#include "support/loading.hpp"

namespace lx = loadax;
using loadax_test::numbers;
using loadax_test::worker_counts;
using namespace std::chrono_literals;

namespace {

struct Example {
  std::int32_t label;
  std::array<float, 3> point;
};

}  // namespace

TEST_CASE("statistics count the batches, samples and bytes that were delivered") {
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{numbers(22).map([](int i) { return Example{i, {}}; }),
                                {.batch_size = 5, .num_workers = workers}};
    auto it = loader.begin();
    CHECK(it.statistics().batches == 0);
    for (std::uint64_t k = 1; it != loader.end(); ++it, ++k) {
      (void)*it;
      (void)*it;
      const lx::LoaderStatistics now = it.statistics();
      CHECK(now.batches == k);
      CHECK(now.samples == (k < 5 ? 5 * k : 22));
      CHECK(now.bytes == now.samples * 16);
      CHECK(now.workers == workers);
      CHECK(now.queue_capacity == std::min<std::size_t>(5, 2 * workers + 1));
      CHECK(now.queue_depth >= 1);
      CHECK(now.queue_depth <= now.queue_capacity);
      CHECK(now.samples_per_second() * std::chrono::duration<double>(now.elapsed).count() ==
            Approx(static_cast<double>(now.samples)));
      CHECK(now.bytes_per_second() == Approx(16 * now.samples_per_second()));
    }
    // Batches that were passed unseen are not delivered.
    auto passing = loader.begin();
    ++passing;
    (void)*passing;
    CHECK(passing.statistics().batches == 1);
    CHECK(passing.statistics().samples == 5);
  }
  CHECK(lx::LoaderStatistics{}.samples_per_second() == 0);
}

TEST_CASE("where loading is slow, the consumer waits, workers are busy and the queue is empty") {
  for (const std::size_t workers : worker_counts) {
    std::atomic<int> asked{0};
    // Nothing is loaded before its batch is asked for, and then not at once.
    const auto late = [&](int i) {
      while (asked.load() <= i / 4) std::this_thread::yield();
      std::this_thread::sleep_for(1ms);
      return i;
    };
    const lx::Dataloader loader{numbers(40).map(late), {.batch_size = 4, .num_workers = workers}};
    auto it = loader.begin();
    for (; it != loader.end(); ++it) {
      ++asked;
      (void)*it;
    }
    const auto seen = it.statistics();
    INFO("workers " << workers);
    CHECK(seen.elapsed >= seen.consumer_waited);
    // 40 sleeps of at least 1 ms, by whoever loads.
    CHECK((workers == 0 ? seen.consumer_waited : seen.workers_busy) >= 40ms);
    CHECK(seen.workers_busy + seen.workers_idle <=
          seen.elapsed * static_cast<std::int64_t>(workers));
    CHECK(seen.mean_queue_depth <= 1);
  }
}

TEST_CASE("where the program is slow, workers are idle and the queue is full") {
  const std::size_t workers = 2;
  const lx::Dataloader loader{numbers(160), {.batch_size = 4, .num_workers = workers}};
  auto it = loader.begin();
  for (std::size_t left = 40; it != loader.end(); ++it, --left) {
    while (it.statistics().queue_depth < std::min<std::size_t>(5, left))
      std::this_thread::sleep_for(1ms);
    (void)*it;
  }
  const auto seen = it.statistics();
  CHECK(seen.elapsed >= seen.consumer_waited);
  CHECK(seen.workers_idle > 0ms);
  // 5 batches were ready for the first 36, then 4, 3, 2, 1.
  CHECK(seen.mean_queue_depth == Approx(190.0 / 40));
  // It was loaded in advance, and then the workers ended: their times stand still.
  std::this_thread::sleep_for(20ms);
  CHECK(it.statistics().workers_busy == seen.workers_busy);
  CHECK(it.statistics().workers_idle == seen.workers_idle);
}
