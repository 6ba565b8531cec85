// Cancelling a loader, and transforms that learn of it.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>
#include <loadax/data/worker_activity.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/loading.hpp"
#include "support/quiet.hpp"
#include "support/resources.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;
using loadax_test::numbers;
using loadax_test::QuietLog;
using loadax_test::Resources;
using loadax_test::worker_counts;
using namespace std::chrono_literals;

namespace {

/// Blocks until the loader asks to stop; then throws, as a transform would.
int block_until_stopped(std::atomic<int>& blocked) {
  const auto token = lx::loading_stop_token();
  ++blocked;
  while (!token.stop_requested()) std::this_thread::sleep_for(1ms);
  throw lx::CancelledError("the transform stopped");
}

}  // namespace

TEST_CASE("a cancelled loop ends with an error, at the next batch") {
  for (const std::size_t workers : worker_counts)
    for (const std::size_t after : {0u, 1u, 5u}) {
      std::stop_source stop;
      std::atomic<int> loads{0};
      const lx::Dataloader loader{
          numbers(100'000).map([&](int i) {
            ++loads;
            return i;
          }),
          {.batch_size = 10, .num_workers = workers, .stop_token = stop.get_token()}};
      std::size_t delivered = 0;
      auto it = loader.begin();
      for (; delivered < after; ++it, ++delivered) CHECK(it->rows() == 10);
      stop.request_stop();
      const auto text = message_of<lx::CancelledError>([&] { (void)*it; });
      CHECK(contains(text, {"cancelled before batch " + std::to_string(after), "hint:"}));
      REQUIRE(it.failure() != nullptr);
      CHECK(it.failure()->batch == after);
      CHECK(it.failure()->stage == lx::LoadStage::deliver);
      // It stays cancelled, and is no end.
      CHECK_THROWS_AS(*it, lx::CancelledError);
      ++it;
      CHECK_THROWS_AS(*it, lx::CancelledError);
      CHECK(it != loader.end());
      CHECK(it.progress().batches_processed == after);
      CHECK(loads < 1000);
      // The token is that of the loader: another pass is cancelled before it begins.
      CHECK_THROWS_AS(*loader.begin(), lx::CancelledError);
    }
}

TEST_CASE("cancelling after the last batch changes nothing") {
  for (const std::size_t workers : worker_counts) {
    std::stop_source stop;
    const lx::Dataloader loader{
        numbers(20), {.batch_size = 10, .num_workers = workers, .stop_token = stop.get_token()}};
    std::size_t batches = 0;
    for (const auto& batch : loader) {
      if (++batches == 2) stop.request_stop();
      CHECK(get<0>(batch).values()[9] == static_cast<int>(10 * batches) - 1);
    }
    CHECK(batches == 2);
  }
}

TEST_CASE("cancelling wakes a consumer that waits, and a transform that listens") {
  const Resources resources;
  for (const std::size_t workers : worker_counts) {
    std::stop_source stop;
    std::atomic<int> blocked{0};
    const lx::Dataloader loader{
        numbers(40).map([&](int i) { return i < 5 ? i : block_until_stopped(blocked); }),
        {.batch_size = 10,
         .num_workers = workers,
         .on_error = lx::OnError::retry(1'000'000).then_skip(),  // no more tries then
         .stop_token = stop.get_token()}};
    std::thread other([&] {
      while (blocked == 0) std::this_thread::yield();
      stop.request_stop();
    });
    {
      auto it = loader.begin();
      CHECK_THROWS_AS(*it, lx::CancelledError);
      CHECK(it.statistics().skipped == 0);
    }
    other.join();
  }
  CHECK(resources.unchanged());
}

TEST_CASE("cancelling at any moment ends the loop by an error or after the last batch") {
  const Resources resources;
  for (const std::size_t workers : worker_counts)
    for (int round = 0; round < 40; ++round) {
      std::stop_source stop;
      const lx::Dataloader loader{
          numbers(2000).map([](int i) { return std::vector<int>{i}; }),
          {.batch_size = 7, .num_workers = workers, .stop_token = stop.get_token()}};
      std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(40 * round));
        stop.request_stop();
      });
      int next = 0;
      bool cancelled = false;
      try {
        for (const auto& batch : loader)
          for (const int x : get<0>(batch).values()) next += x == next;
      } catch (const lx::CancelledError&) {
        cancelled = true;
      }
      other.join();
      CHECK((cancelled ? next % 7 == 0 : next == 2000));
    }
  CHECK(resources.unchanged());
}

TEST_CASE("leaving the loop asks running transforms and sources to stop") {
  const Resources resources;
  struct Blocking {
    std::atomic<int>* blocked;
    std::size_t size() const { return 100; }
    int operator[](std::size_t i) const {
      return i < 10 ? static_cast<int>(i) : block_until_stopped(*blocked);
    }
  };
  for (const std::size_t workers : {1u, 2u, 7u}) {
    std::atomic<int> blocked{0};
    const lx::Dataloader loader{lx::dataset(Blocking{&blocked}),
                                {.batch_size = 10, .num_workers = workers}};
    for (const auto& batch : loader) {
      CHECK(batch.rows() == 10);
      while (blocked == 0) std::this_thread::yield();
      break;
    }
  }
  CHECK(resources.unchanged());
}

TEST_CASE("outside of a loader, nobody asks to stop") {
  CHECK_FALSE(lx::loading_stop_token().stop_possible());
  bool possible = false;
  const auto dataset = numbers(1).map([&](int i) {
    possible = lx::loading_stop_token().stop_possible();
    return i;
  });
  CHECK(dataset[0] == 0);
  CHECK_FALSE(possible);
  const lx::Dataloader loader{dataset, {.batch_size = 1}};
  for (const auto& batch : loader) CHECK(batch.rows() == 1);
  CHECK(possible);
  CHECK_FALSE(lx::loading_stop_token().stop_possible());
}
