// What a loader counts, and where it says that time goes.
#include <algorithm>
#include <array>
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

auto slowly(std::size_t n, std::chrono::microseconds each) {
  return numbers(n).map([each](int i) {
    std::this_thread::sleep_for(each);
    return i;
  });
}

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
    const lx::Dataloader loader{slowly(40, 3ms), {.batch_size = 4, .num_workers = workers}};
    auto it = loader.begin();
    for (; it != loader.end(); ++it) (void)*it;
    const auto seen = it.statistics();
    INFO("workers " << workers);
    CHECK(seen.elapsed >= seen.consumer_waited);
    CHECK(2 * seen.consumer_waited >= seen.elapsed);
    // 40 sleeps of at least 3 ms, by whoever loads.
    CHECK((workers == 0 ? seen.consumer_waited : seen.workers_busy) >= 120ms);
    CHECK(seen.workers_busy + seen.workers_idle <=
          seen.elapsed * static_cast<std::int64_t>(workers));
    CHECK(seen.mean_queue_depth < 1);
  }
}

TEST_CASE("where the program is slow, workers are idle and the queue is full") {
  const std::size_t workers = 2;
  const lx::Dataloader loader{numbers(160), {.batch_size = 4, .num_workers = workers}};
  auto it = loader.begin();
  for (; it != loader.end(); ++it) {
    (void)*it;
    std::this_thread::sleep_for(5ms);
  }
  const auto seen = it.statistics();
  CHECK(seen.elapsed >= 200ms);
  CHECK(2 * seen.consumer_waited <= seen.elapsed);
  CHECK(seen.workers_idle >= 50ms);
  CHECK(seen.mean_queue_depth > 1.5);
  CHECK(seen.mean_queue_depth <= 5);
  // It was loaded in advance, and then the workers ended: their times stand still.
  std::this_thread::sleep_for(20ms);
  CHECK(it.statistics().workers_busy == seen.workers_busy);
  CHECK(it.statistics().workers_idle == seen.workers_idle);
}
