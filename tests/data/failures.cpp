// What a Dataloader does where something throws.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/core/log.hpp>
#include <loadax/core/thread_context.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/few_threads.hpp"
#include "support/loading.hpp"
#include "support/quiet.hpp"
#include "support/resources.hpp"

namespace lx = loadax;
using loadax_test::batches_of;
using loadax_test::contains;
using loadax_test::FewThreads;
using loadax_test::message_of;
using loadax_test::Mine;
using loadax_test::numbers;
using loadax_test::QuietLog;
using loadax_test::Resources;
using loadax_test::worker_counts;
using namespace std::chrono_literals;

TEST_CASE("an exception arrives at its own batch with its own type, after all batches before it") {
  const QuietLog quiet;
  for (const std::size_t workers : worker_counts)
    for (const int bad : {0, 1, 7, 8, 37, 63}) {
      INFO("workers " << workers << " sample " << bad);
      const auto dataset = numbers(64).map([bad](int i) {
        if (i == bad) throw Mine(i);
        return i;
      });
      const lx::Dataloader loader{dataset, {.batch_size = 8, .num_workers = workers}};
      int delivered = 0;
      try {
        for (const auto& batch : loader) {
          CHECK(get<0>(batch).values()[0] == delivered * 8);
          ++delivered;
        }
        FAIL("nothing was thrown");
      } catch (const Mine& error) {
        CHECK(error.sample == bad);
      }
      CHECK(delivered == bad / 8);
    }
}

TEST_CASE("behind an exception the iterator goes on with the next batch") {
  QuietLog quiet;
  for (const std::size_t workers : worker_counts) {
    quiet.lines.clear();
    const auto dataset = numbers(40).shuffle(1).map([](int i) {
      if (i == 11) throw 42;  // no std::exception
      if (i == 30) throw std::out_of_range("thirty");
      return i;
    });
    const lx::Dataloader loader{dataset, {.batch_size = 4, .num_workers = workers}};
    const lx::IndexPermutation order(40, 1, 0);
    const std::uint64_t at_11 = order.position_of(11), at_30 = order.position_of(30);
    REQUIRE(at_11 / 4 != at_30 / 4);
    std::uint64_t k = 0, ints = 0, ranges = 0;
    auto it = loader.begin();
    for (; it != loader.end(); ++it, ++k) {
      try {
        const auto& batch = *it;
        CHECK(get<0>(batch).values()[0] == static_cast<int>(order(4 * k)));
        CHECK(it.failure() == nullptr);
      } catch (int value) {
        CHECK(value == 42);
        CHECK(k == at_11 / 4);
        ++ints;
        REQUIRE(it.failure() != nullptr);
        CHECK(it.failure()->batch == k);
        CHECK(it.failure()->sample == at_11);
        CHECK(it.failure()->stage == lx::LoadStage::transform);
        CHECK_THROWS_AS(*it, int);  // as often as it is asked
      } catch (const std::out_of_range& error) {
        CHECK(error.what() == std::string("thirty"));
        CHECK(k == at_30 / 4);
        ++ranges;
      }
    }
    CHECK(k == 10);
    CHECK(ints == 1);
    CHECK(ranges == 1);
    CHECK(it.progress().batches_processed == 8);
    CHECK(it.progress().items_processed == 32);
    // The log tells each failed batch once.
    REQUIRE(quiet.lines.size() == 2);
    const std::string text = quiet.lines[0] + quiet.lines[1];
    CHECK(contains(text, {"batch " + std::to_string(at_30 / 4), "transform",
                          "sample " + std::to_string(at_30), "thirty", "no standard type"}));
  }
}

TEST_CASE("where several samples of a batch fail, the first one is told") {
  const QuietLog quiet;
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{numbers(64).map([](int i) -> int {
                                  if (i < 3) return i;
                                  throw Mine(i);
                                }),
                                {.batch_size = 64, .num_workers = workers}};
    auto it = loader.begin();
    try {
      (void)*it;
    } catch (const Mine& error) {
      CHECK(error.sample == 3);
    }
    REQUIRE(it.failure() != nullptr);
    CHECK(it.failure()->sample == 3);
  }
}

TEST_CASE("a failure of the source is told apart from one of a transform") {
  const QuietLog quiet;
  struct Broken {
    std::size_t size() const { return 4; }
    int operator[](std::size_t i) const { return i == 2 ? throw std::runtime_error("disk") : 1; }
  };
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{lx::dataset(Broken{}).map([](int i) { return i; }),
                                {.batch_size = 4, .num_workers = workers}};
    auto it = loader.begin();
    CHECK(message_of<std::runtime_error>([&] { (void)*it; }) == "disk");
    CHECK(it.failure()->stage == lx::LoadStage::source);
    CHECK(it.failure()->sample == 2);
  }
}

TEST_CASE("an epoch that cannot be made is an error where the loop begins") {
  struct Fickle {
    std::size_t size() const { return 4; }
    int operator[](std::size_t) const { return 0; }
    Fickle for_epoch(std::uint64_t epoch) const {
      if (epoch == 1) throw std::runtime_error("no epoch 1");
      return *this;
    }
  };
  const lx::Dataloader loader{Fickle{}, {.batch_size = 2, .num_workers = 2}};
  CHECK(batches_of(loader).size() == 2);
  CHECK(message_of<std::runtime_error>([&] { (void)loader.begin(); }) == "no epoch 1");
  CHECK(batches_of(loader).size() == 2);
}

namespace {
std::atomic<int> refusals{0};
}

TEST_CASE("where one worker cannot start, its rows fail and the others' are loaded") {
  static const bool inherited = lx::inherit_in_threads([]() -> lx::AdoptThreadState {
    if (refusals == 0) return {};
    return []() -> std::shared_ptr<void> {
      if (refusals.fetch_sub(1) == 2) throw std::runtime_error("cannot start");
      return {};
    };
  });
  CHECK(inherited);
  const QuietLog quiet;
  const auto slowly = numbers(200).map([](int i) {
    std::this_thread::sleep_for(50us);
    return std::vector<int>{i};
  });
  for (int round = 0; round < 20; ++round) {
    refusals = 2;
    const lx::Dataloader loader{slowly, {.batch_size = 20, .num_workers = 2}};
    int failed = 0, delivered = 0;
    for (auto it = loader.begin(); it != loader.end(); ++it) {
      try {
        const auto& batch = *it;
        CHECK(batch.rows() == 20);
        ++delivered;
      } catch (const std::runtime_error& error) {
        CHECK(error.what() == std::string("cannot start"));
        ++failed;
      }
    }
    CHECK(failed + delivered == 10);
  }
  refusals = 0;
}

TEST_CASE("a log sink that throws does not hide the failure") {
  lx::set_log_sink([](lx::LogLevel, std::string_view) { throw std::logic_error("sink"); });
  const lx::Dataloader loader{numbers(2).map([](int i) -> int { throw Mine(i); }),
                              {.batch_size = 2, .num_workers = 1}};
  auto it = loader.begin();
  CHECK_THROWS_AS(*it, Mine);
  lx::set_log_sink({});
}

TEST_CASE("threads that cannot be started are an error, and those that were are joined") {
  const lx::Dataloader loader{numbers(100), {.batch_size = 50, .num_workers = 8}};
  REQUIRE(batches_of(loader).size() == 2);  // a sanitizer starts a thread of its own with the first
  const Resources resources;
  std::string text;
  {
    const FewThreads few;
    text = message_of<lx::EngineError>([&] { (void)loader.begin(); });
  }
  CHECK(contains(text, {"threads:", "of 8 loader threads started", "num_workers", "hint:"}));
  CHECK(!contains(text, {"0 of 8"}));
  CHECK(resources.unchanged());
  CHECK(batches_of(loader).size() == 2);
}
