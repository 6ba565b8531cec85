#include <atomic>
#include <thread>
#include <vector>

#include <loadax/core/barrier.hpp>

#include "support/catch.hpp"

namespace lx = loadax;

TEST_CASE("nobody passes a barrier before all have arrived", "[comm]") {
  constexpr std::uint32_t threads = 5;
  constexpr int rounds = 2000;
  lx::AbortableBarrier barrier(threads);
  std::atomic<int> arrived{0}, early{0};
  {
    std::vector<std::jthread> team;
    for (std::uint32_t t = 0; t < threads; ++t)
      team.emplace_back([&] {
        for (int round = 1; round <= rounds; ++round) {
          ++arrived;
          barrier.arrive_and_wait();
          if (arrived.load() < round * static_cast<int>(threads)) ++early;
          barrier.arrive_and_wait();
        }
      });
  }
  CHECK(early == 0);
  CHECK(arrived == rounds * static_cast<int>(threads));
}

TEST_CASE("aborting a barrier wakes those who wait, and those who come later", "[comm]") {
  lx::AbortableBarrier barrier(3);
  std::atomic<int> aborted{0};
  const auto wait = [&] {
    try {
      barrier.arrive_and_wait();
    } catch (const lx::BarrierAborted&) {
      ++aborted;
    }
  };
  {
    std::jthread first(wait), second(wait);
    while (!barrier.has_waiters()) std::this_thread::yield();
    barrier.abort();
  }
  wait();
  CHECK(aborted == 3);
  barrier.reset();
  {
    std::jthread first(wait), second(wait), third(wait);
  }
  CHECK(aborted == 3);
}
