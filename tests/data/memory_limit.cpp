// max_prefetch_bytes: what the batches in memory take, measured at the allocator.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/core/random.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/loading.hpp"
#include "support/quiet.hpp"
#include "support/seed.hpp"

namespace lx = loadax;
using loadax_test::allocations;
using loadax_test::contains;
using loadax_test::message_of;
using loadax_test::numbers;
using loadax_test::QuietLog;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kib = 1024;

using Row = std::array<int, 256>;  // 1 KiB
auto rows(std::size_t n) {
  return numbers(n).map([](int i) {
    Row row;
    row.fill(i);
    return row;
  });
}

/// Bytes in blocks of at least 32 KiB: those of batches, not of the loader itself.
std::size_t peak_of_large(auto&& action) {
  allocations.reset_peak();
  const std::size_t before = allocations.large_bytes();
  action();
  return allocations.peak_large_bytes() - before;
}

/// Lets the workers load as far ahead as they may.
void settle() { std::this_thread::sleep_for(30ms); }

}  // namespace

TEST_CASE("batches in memory take no more bytes than max_prefetch_bytes, though workers wait") {
  for (const std::size_t workers : {0u, 1u, 2u, 7u})
    for (const std::size_t limit : {64 * kib, 160 * kib, 512 * kib}) {
      INFO("workers " << workers << " limit " << limit);
      const lx::Dataloader loader{rows(3200),
                                  {.batch_size = 64,  // 64 KiB
                                   .num_workers = workers,
                                   .prefetch_factor = 5,
                                   .max_prefetch_bytes = limit}};
      const std::size_t peak = peak_of_large([&] {
        int next = 0;
        for (const auto& batch : loader) {
          if (next == 0) settle();
          for (std::size_t row = 0; row < 64; ++row)
            CHECK(get<0>(batch).values()[256 * row + 255] == next++);
        }
        CHECK(next == 3200);
      });
      const std::size_t slack = 64 * 8;  // alignment, for each of at most 8 batches
      CHECK(peak <= limit + slack);
      const std::size_t asked_for = 64 * kib * (5 * workers + 1);
      CHECK(peak >= std::min(limit / (64 * kib) * (64 * kib), asked_for));
    }
}

TEST_CASE("without a limit, batches take the bytes of the ring, however long the pass") {
  for (const std::size_t workers : {0u, 1u, 2u}) {
    const lx::Dataloader loader{rows(6400),
                                {.batch_size = 64, .num_workers = workers, .prefetch_factor = 3}};
    const std::size_t peak = peak_of_large([&] {
      std::size_t batches = 0;
      for (const auto& batch : loader) batches += batch.rows() == 64;
      CHECK(batches == 100);
    });
    const std::size_t ring = 3 * workers + 1;
    CHECK(peak <= ring * (64 * kib + 64));
  }
}

TEST_CASE("the limit holds for batches of changing sizes, which come in order") {
  const auto seed = loadax_test::seed();
  INFO("seed " << seed);
  lx::CounterRandom random(seed);
  for (const std::size_t workers : {1u, 2u, 7u})
    for (int round = 0; round < 10; ++round) {
      std::vector<std::size_t> sizes(60);  // of the rows of each batch, 32 to 160 KiB
      for (auto& size : sizes) size = 8 * kib * (4 + random() % 17);
      const auto texts = numbers(120).map([&](int i) {
        return std::vector<char>(sizes[static_cast<std::size_t>(i) / 2], static_cast<char>(i));
      });
      const std::size_t limit = 2 * 160 * kib + 8 * kib * (random() % 60);
      const lx::Dataloader loader{texts,
                                  {.batch_size = 2,
                                   .num_workers = workers,
                                   .prefetch_factor = 4,
                                   .max_prefetch_bytes = limit}};
      const std::size_t peak = peak_of_large([&] {
        int next = 0;
        for (const auto& batch : loader) {
          if (next % 20 == 0) std::this_thread::sleep_for(1ms);
          REQUIRE(get<0>(batch).shape() == lx::Shape{2, sizes[static_cast<std::size_t>(next) / 2]});
          CHECK(get<0>(batch).values()[0] == static_cast<char>(next));
          CHECK(get<0>(batch).values().back() == static_cast<char>(next + 1));
          next += 2;
        }
        CHECK(next == 120);
      });
      const std::size_t samples = workers * 160 * kib;  // in the workers' hands, not in batches
      CHECK(peak <= limit + samples + 4 * kib);
    }
}

TEST_CASE("a batch that alone is larger than the limit is an error that names both") {
  const QuietLog quiet;
  for (const std::size_t workers : {0u, 1u, 2u}) {
    const lx::Dataloader loader{rows(40),
                                {.batch_size = 8,
                                 .num_workers = workers,
                                 .on_error = lx::OnError::retry(1),
                                 .max_prefetch_bytes = 8 * kib - 1}};
    auto it = loader.begin();
    CHECK(contains(message_of<lx::ArgumentError>([&] { (void)*it; }),
                   {"batch 0 takes 8192 bytes", "max_prefetch_bytes is 8191", "hint:"}));
    CHECK(it.failure()->stage == lx::LoadStage::place);
    ++it;
    CHECK_THROWS_AS(*it, lx::ArgumentError);
  }
}

TEST_CASE("under a limit, batches may be skipped and left, and failures come in their places") {
  const QuietLog quiet;
  for (const std::size_t workers : {0u, 1u, 2u, 7u}) {
    const lx::Dataloader loader{numbers(400).map([](int i) {
                                  if (i % 40 == 17) throw loadax_test::Mine(i);
                                  return std::vector<int>(1024, i);  // 4 KiB
                                }),
                                {.batch_size = 4,
                                 .num_workers = workers,
                                 .prefetch_factor = 3,
                                 .max_prefetch_bytes = 36 * kib}};  // two batches
    std::uint64_t k = 0;
    for (auto it = loader.begin(); it != loader.end(); ++it, ++k) {
      if (k % 3 == 1) continue;
      if (k % 10 == 4) {
        CHECK_THROWS_AS(*it, loadax_test::Mine);
      } else {
        CHECK(get<0>(*it).values()[0] == static_cast<int>(4 * k));
      }
    }
    CHECK(k == 100);
    auto left = loader.begin();
    CHECK(left->rows() == 4);
  }
}
