// Giving up on a batch that takes too long.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/loading.hpp"
#include "support/quiet.hpp"
#include "support/resources.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::Gate;
using loadax_test::Meeting;
using loadax_test::message_of;
using loadax_test::numbers;
using loadax_test::QuietLog;
using loadax_test::Resources;
using namespace std::chrono_literals;

namespace {

/// Numbers whose sample `hung` blocks in the source.
struct Hanging {
  std::shared_ptr<Gate> gate;
  std::size_t hung;
  std::size_t size() const { return 40; }
  int operator[](std::size_t i) const {
    if (i == hung) gate->pass();
    return static_cast<int>(i);
  }
};

/// The same, with a transform that blocks.
auto hanging_transform(std::shared_ptr<Gate> gate, int hung) {
  return numbers(40).map([gate = std::move(gate), hung](int i) {
    if (i == hung) gate->pass();
    return std::vector<int>{i};
  });
}

constexpr std::size_t some_workers[] = {1, 2, 7};

}  // namespace

TEST_CASE("a wait longer than the timeout is an error that names the stage and the sample") {
  const QuietLog quiet;
  const Resources resources;
  for (const std::size_t workers : some_workers)
    for (const std::size_t hung : {0u, 13u}) {
      const auto check = [&](const auto& dataset, lx::LoadStage stage, Gate& gate) {
        const lx::Dataloader loader{dataset,
                                    {.batch_size = 8, .num_workers = workers, .timeout = 300ms}};
        auto it = loader.begin();
        if (hung > 8) {
          CHECK(it->rows() == 8);
          ++it;
        }
        const auto start = std::chrono::steady_clock::now();
        try {
          (void)*it;
          FAIL("nothing was thrown");
        } catch (const lx::TimeoutError& error) {
          CHECK(error.stage() == name(stage));
          const std::string batch = "batch " + std::to_string(hung / 8);
          CHECK(contains(error.what(), {batch, "was not loaded within 0.3 s",
                                        "sample " + std::to_string(hung), name(stage), "hint:"}));
        }
        const auto waited = std::chrono::steady_clock::now() - start;
        CHECK(waited >= 300ms);
        REQUIRE(it.failure() != nullptr);
        CHECK(it.failure()->batch == hung / 8);
        CHECK(it.failure()->sample == hung);
        CHECK(it.failure()->stage == stage);
        gate.open();
      };
      const auto in_source = std::make_shared<Gate>(), in_transform = std::make_shared<Gate>();
      check(lx::dataset(Hanging{in_source, hung}), lx::LoadStage::source, *in_source);
      check(hanging_transform(in_transform, static_cast<int>(hung)), lx::LoadStage::transform,
            *in_transform);
    }
  CHECK(resources.unchanged());
}

TEST_CASE("after a timeout nobody waits for the call that hangs, and the iterator is dead") {
  const QuietLog quiet;
  const Resources resources;
  const auto gate = std::make_shared<Gate>();
  std::weak_ptr<int> dataset_lives;
  {
    const auto token = std::make_shared<int>(1);
    dataset_lives = token;
    const auto hanging = hanging_transform(gate, 3).map([token](std::vector<int> x) { return x; });
    const lx::Dataloader loader{hanging, {.batch_size = 8, .num_workers = 2, .timeout = 50ms}};
    auto it = loader.begin();
    CHECK_THROWS_AS(*it, lx::TimeoutError);
    CHECK(contains(message_of<lx::StateError>([&] { (void)*it; }), {"timeout", "hint:"}));
    CHECK(contains(message_of<lx::StateError>([&] { ++it; }), {"timeout", "hint:"}));
    CHECK(it != loader.end());  // a loop that goes on meets the error, not a silent end
    CHECK(it.progress().batches_processed == 0);
    CHECK(it.statistics().batches == 0);
  }
  // All of it is destroyed; the worker still is in the user's call, with what it needs.
  CHECK(gate->waiting == 1);
  CHECK_FALSE(dataset_lives.expired());
  gate->open();
  CHECK(resources.unchanged());
  CHECK(dataset_lives.expired());
}

TEST_CASE("a batch that hangs may be left by ++ only until the timeout") {
  const QuietLog quiet;
  const Resources resources;
  const auto gate = std::make_shared<Gate>();
  {
    const lx::Dataloader loader{lx::dataset(Hanging{gate, 2}),
                                {.batch_size = 8, .num_workers = 1, .timeout = 50ms}};
    auto it = loader.begin();
    while (gate->waiting == 0) std::this_thread::yield();
    CHECK(contains(message_of<lx::TimeoutError>([&] { ++it; }), {"batch 0", "sample 2"}));
  }
  gate->open();
  CHECK(resources.unchanged());
}

TEST_CASE("loading that is slow but in time is not given up") {
  const lx::Dataloader loader{numbers(20).map([](int i) {
                                std::this_thread::sleep_for(5ms);
                                return i;
                              }),
                              {.batch_size = 2, .num_workers = 2, .timeout = 20s}};
  CHECK(loadax_test::batches_of(loader).size() == 10);
  // Longer than the clock can tell: no limit.
  const lx::Dataloader patient{
      numbers(4), {.batch_size = 2, .num_workers = 1, .timeout = std::chrono::nanoseconds::max()}};
  CHECK(loadax_test::batches_of(patient).size() == 2);
}

TEST_CASE("N transforms that wait for each other finish with N workers, and time out with N - 1") {
  const QuietLog quiet;
  const Resources resources;
  for (const int n : {2, 3, 5}) {
    const auto load = [&](std::size_t workers, std::chrono::nanoseconds timeout) {
      const auto meeting = std::make_shared<Meeting>(n, 2s);
      const auto size = static_cast<std::size_t>(n);
      const lx::Dataloader loader{numbers(size).map([meeting](int i) {
                                    meeting->wait();
                                    return i;
                                  }),
                                  {.batch_size = size, .num_workers = workers, .timeout = timeout}};
      return loadax_test::batches_of(loader).size();
    };
    CHECK(load(static_cast<std::size_t>(n), 60s) == 1);
    CHECK(contains(
        message_of<lx::TimeoutError>([&] { (void)load(static_cast<std::size_t>(n) - 1, 100ms); }),
        {"sample 0 in stage transform"}));
  }
  CHECK(resources.unchanged());
}

TEST_CASE("a timeout that cannot be is refused when the loader is made") {
  CHECK(contains(message_of<lx::ArgumentError>(
                     [] { (void)lx::Dataloader{numbers(3), {.batch_size = 1, .timeout = 1s}}; }),
                 {"Dataloader", "timeout", "num_workers = 0", "hint:"}));
  CHECK(contains(message_of<lx::ArgumentError>([] {
                   (void)lx::Dataloader{numbers(3),
                                        {.batch_size = 1, .num_workers = 1, .timeout = 0s}};
                 }),
                 {"timeout is 0 ns", "hint:"}));
}
