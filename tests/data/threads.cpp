// How the threads of a Dataloader work together, and end.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <loadax/core/thread_context.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/loading.hpp"
#include "support/quiet.hpp"
#include "support/resources.hpp"

namespace lx = loadax;
using loadax_test::batches_of;
using loadax_test::Meeting;
using loadax_test::message_of;
using loadax_test::numbers;
using loadax_test::QuietLog;
using loadax_test::Resources;
using loadax_test::worker_counts;
using namespace std::chrono_literals;

TEST_CASE("as many transforms as there are workers run at once") {
  for (const int workers : {2, 4, 7}) {
    Meeting meeting(workers, 20s);
    std::atomic<int> missed{0};
    const auto meet = [&](int i) {
      if (!meeting.wait()) ++missed;
      return i;
    };
    const auto n = static_cast<std::size_t>(workers);
    const lx::Dataloader fixed{numbers(n * 4).map(meet), {.batch_size = n, .num_workers = n}};
    CHECK(batches_of(fixed).size() == 4);
    // Also where a batch's shapes come from its first sample.
    const lx::Dataloader open{numbers(n * 4).map([&](int i) { return std::vector<int>{meet(i)}; }),
                              {.batch_size = n, .num_workers = n}};
    CHECK(batches_of(open).size() == 4);
    CHECK(missed == 0);
  }
}

TEST_CASE("fewer workers than transforms that wait for each other cannot finish them") {
  Meeting meeting(3, 50ms);
  std::atomic<int> missed{0};
  const lx::Dataloader loader{numbers(3).map([&](int i) {
                                if (!meeting.wait()) ++missed;
                                return i;
                              }),
                              {.batch_size = 3, .num_workers = 2}};
  batches_of(loader);
  CHECK(missed > 0);
}

TEST_CASE("leaving the loop at any point ends all workers") {
  const Resources resources;
  for (const std::size_t workers : worker_counts)
    for (std::size_t leave = 0; leave <= 10; ++leave) {
      const lx::Dataloader loader{numbers(80), {.batch_size = 8, .num_workers = workers}};
      std::size_t k = 0;
      for (auto it = loader.begin(); it != loader.end() && k < leave; ++it, ++k) (void)*it;
      CHECK(resources.unchanged());
      {
        const auto unused = loader.begin();
      }
      CHECK(resources.unchanged());
    }
}

TEST_CASE("an exception of the consumer ends all workers") {
  const Resources resources;
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{numbers(1000), {.batch_size = 8, .num_workers = workers}};
    CHECK(message_of<std::runtime_error>([&] {
            for (const auto& batch : loader) {
              if (get<0>(batch).values()[0] == 16) throw std::runtime_error("consumer");
            }
          }) == "consumer");
    CHECK(resources.unchanged());
  }
}

TEST_CASE("leaving the loop waits for running transforms, and for no more") {
  std::atomic<int> running{0}, calls{0};
  const auto dataset = numbers(10'000).map([&](int i) {
    ++running;
    ++calls;
    std::this_thread::sleep_for(1ms);
    --running;
    return i;
  });
  const lx::Dataloader loader{dataset,
                              {.batch_size = 100, .num_workers = 2, .prefetch_factor = 20}};
  {
    const auto it = loader.begin();
    while (calls < 4) std::this_thread::sleep_for(1ms);
  }
  CHECK(running == 0);
  CHECK(calls < 1000);
}

TEST_CASE("no more is loaded ahead than prefetch_factor batches for each worker") {
  for (const std::size_t workers : {0u, 1u, 3u}) {
    std::atomic<int> calls{0};
    const lx::Dataloader loader{numbers(1000).map([&](int i) {
                                  ++calls;
                                  return i;
                                }),
                                {.batch_size = 4, .num_workers = workers, .prefetch_factor = 2}};
    auto it = loader.begin();
    if (workers == 0) CHECK(calls == 0);
    for (int k = 1; k <= 5; ++k, ++it) {
      (void)*it;
      // The batch in hand, and those ahead of it.
      const int allowed = 4 * (k + 2 * static_cast<int>(workers));
      if (workers > 0)
        for (int t = 0; t < 10'000 && calls < allowed; ++t) std::this_thread::sleep_for(1ms);
      std::this_thread::sleep_for(5ms);
      CHECK(calls == allowed);
    }
  }
}

TEST_CASE("the next batch is loaded while the consumer works") {
  std::atomic<int> calls{0};
  const lx::Dataloader loader{numbers(8).map([&](int i) {
                                ++calls;
                                return i;
                              }),
                              {.batch_size = 4, .num_workers = 1}};
  auto it = loader.begin();
  (void)*it;
  for (int i = 0; i < 10'000 && calls < 8; ++i) std::this_thread::sleep_for(1ms);
  CHECK(calls == 8);
}

TEST_CASE("an epoch ends without a pause") {
  const lx::Dataloader loader{numbers(10), {.batch_size = 4, .num_workers = 2}};
  const auto start = std::chrono::steady_clock::now();
  for (int epoch = 0; epoch < 50; ++epoch) CHECK(batches_of(loader).size() == 3);
  CHECK(std::chrono::steady_clock::now() - start < 50 * 50ms);
}

TEST_CASE("neither slow batches nor failures deepen the stack") {
  const QuietLog quiet;
  std::uintptr_t lowest = ~std::uintptr_t{0}, highest = 0;
  const auto dataset = numbers(4000).map([&](int i) {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    lowest = std::min(lowest, here);
    highest = std::max(highest, here);
    if (i % 100 == 0) std::this_thread::sleep_for(100us);
    if (i % 3 != 0) throw std::runtime_error("bad");
    return i;
  });
  for (const std::size_t workers : {0u, 1u}) {
    lowest = ~std::uintptr_t{0};
    highest = 0;
    const lx::Dataloader loader{
        dataset,
        {.batch_size = 4, .num_workers = workers, .on_error = lx::OnError::retry(2).then_skip()}};
    CHECK(batches_of(loader).size() == 1000);
    CHECK(highest - lowest < 4096);
  }
}

TEST_CASE("one slow sample does not hold up the other workers") {
  std::atomic<int> done{0};
  std::atomic<bool> others_done{false};
  const lx::Dataloader loader{numbers(16).map([&](int i) {
                                if (i == 0) {
                                  for (int t = 0; t < 10'000 && done < 12; ++t)
                                    std::this_thread::sleep_for(1ms);
                                  others_done = done >= 12;
                                }
                                ++done;
                                return i;
                              }),
                              {.batch_size = 16, .num_workers = 2}};
  CHECK(batches_of(loader).size() == 1);
  CHECK(others_done);
}

TEST_CASE("slow and uneven transforms keep the order") {
  const lx::Dataloader loader{numbers(120).map([](int i) {
                                std::this_thread::sleep_for(std::chrono::microseconds(i % 7 * 150));
                                return i;
                              }),
                              {.batch_size = 8, .num_workers = 7, .prefetch_factor = 1}};
  int next = 0;
  for (const auto& batch : loader)
    for (const int sample : get<0>(batch).values()) CHECK(sample == next++);
  CHECK(next == 120);
}

namespace {
thread_local int scope = 0;
}

TEST_CASE("transforms see the state of the thread that started the loop") {
  static const bool inherited = lx::inherit_in_threads([]() -> lx::AdoptThreadState {
    if (scope == 0) return {};
    return [value = scope]() -> std::shared_ptr<void> {
      if (value < 0) throw std::runtime_error("cannot adopt");
      scope = value;
      return {};
    };
  });
  CHECK(inherited);
  const auto dataset = numbers(12).map([](int) { return scope; });
  for (const std::size_t workers : worker_counts) {
    scope = 5;
    const lx::Dataloader loader{dataset, {.batch_size = 6, .num_workers = workers}};
    for (const auto& batch : loader)
      for (const int seen : get<0>(batch).values()) CHECK(seen == 5);
  }
  // Where it cannot be had, each batch says so.
  const QuietLog quiet;
  scope = -1;
  const lx::Dataloader loader{dataset, {.batch_size = 6, .num_workers = 2}};
  auto it = loader.begin();
  scope = 0;
  CHECK(message_of<std::runtime_error>([&] { (void)*it; }) == "cannot adopt");
  CHECK(it.failure()->stage == lx::LoadStage::open);
  CHECK(it.failure()->sample == lx::no_sample);
  ++it;
  CHECK_THROWS_AS(*it, std::runtime_error);
  ++it;
  CHECK(it == loader.end());
}
