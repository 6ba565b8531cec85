// However a loop over a loader ends, the process holds what it held before.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>
#include <loadax/data/worker_activity.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/loading.hpp"
#include "support/quiet.hpp"
#include "support/resources.hpp"

namespace lx = loadax;
using loadax_test::message_of;
using loadax_test::Mine;
using loadax_test::numbers;
using loadax_test::QuietLog;
using loadax_test::Resources;
using loadax_test::worker_counts;
using namespace std::chrono_literals;

namespace {

/// 16 KiB a sample.
auto large(std::size_t n) {
  return numbers(n).map([](int i) { return std::vector<int>(4096, i); });
}

/// What an unwinding stack destroys.
struct HoldsIterator {
  lx::Dataloader<lx::SimpleDataset<int>>::iterator iterator;
};

}  // namespace

TEST_CASE("however a loop ends, threads, files and memory are as before") {
  const QuietLog quiet;
  for (const std::size_t workers : worker_counts) {
    INFO("workers " << workers);
    const lx::Dataloader loader{large(64), {.batch_size = 8, .num_workers = workers}};
    const lx::Dataloader failing{numbers(64).map([](int i) { return i == 29 ? throw Mine(i) : i; }),
                                 {.batch_size = 8, .num_workers = workers}};
    const auto use = [&] {
      for (std::size_t leave = 0; leave <= 8; ++leave) {
        std::size_t k = 0;
        for (const auto& batch : loader) {
          if (k++ == leave) break;
          if (batch.rows() != 8) throw std::logic_error("rows");
        }
      }
      CHECK(message_of<std::runtime_error>([&] {
              for (const auto& batch : loader)
                if (get<0>(batch).values()[0] == 16) throw std::runtime_error("consumer");
            }) == "consumer");
      try {
        for (const auto& batch : failing) CHECK(get<0>(batch).values()[0] < 24);
        FAIL("nothing was thrown");
      } catch (const Mine& error) {
        CHECK(error.sample == 29);
      }
    };
    use();  // what the first use takes for good
    const Resources resources;
    for (int i = 0; i < 10; ++i) use();
    CHECK(resources.unchanged());
    CHECK(resources.resident_growth() < 8 * 1024 * 1024);
  }
}

TEST_CASE("an iterator may be destroyed while the stack unwinds, and by a destructor") {
  for (const std::size_t workers : worker_counts) {
    const lx::Dataloader loader{numbers(1000), {.batch_size = 8, .num_workers = workers}};
    const Resources resources;
    try {
      const HoldsIterator outer{loader.begin()};
      try {
        HoldsIterator inner{loader.begin()};
        CHECK(inner.iterator->rows() == 8);
        throw std::runtime_error("first");
      } catch (const std::runtime_error&) {
        auto on_heap = std::make_unique<HoldsIterator>(HoldsIterator{loader.begin()});
        throw;
      }
    } catch (const std::runtime_error& error) {
      CHECK(error.what() == std::string("first"));
    }
    CHECK(resources.unchanged());
  }
}

TEST_CASE("a source that blocks holds up the end only until it returns, and no thread stays") {
  const Resources resources;
  for (const std::size_t workers : {1u, 2u, 7u}) {
    std::atomic<int> running{0};
    const lx::Dataloader loader{numbers(1000).map([&](int i) {
                                  ++running;
                                  std::this_thread::sleep_for(20ms);
                                  --running;
                                  return i;
                                }),
                                {.batch_size = 100, .num_workers = workers}};
    const auto start = std::chrono::steady_clock::now();
    {
      const auto it = loader.begin();
      while (running == 0) std::this_thread::yield();
    }
    CHECK(running == 0);
    CHECK(std::chrono::steady_clock::now() - start < 5s);
  }
  CHECK(resources.unchanged());
}

TEST_CASE("resident memory stays flat over 50 epochs") {
  for (const std::size_t workers : worker_counts) {
    INFO("workers " << workers);
    const lx::Dataloader loader{large(96).map([](std::vector<int> x) { return x; }),
                                {.batch_size = 8, .num_workers = workers}};
    const auto epoch = [&] {
      for (const auto& batch : loader)
        if (batch.rows() != 8) throw std::logic_error("rows");
    };
    // The allocator's arenas, one for a thread, grow to what their threads once needed.
    for (int i = 0; i < 10; ++i) epoch();
    const Resources resources;
    for (int i = 0; i < 50; ++i) epoch();
    // An epoch's batches are 1.5 MiB: a leak of one in ten epochs' would show.
    CHECK(resources.resident_growth() < 6 * 1024 * 1024);
    CHECK(resources.unchanged());
  }
}
