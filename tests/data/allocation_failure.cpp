// Memory that runs out at each of a Dataloader's allocations.
#include <array>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <loadax/core/log.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/catch.hpp"
#include "support/loading.hpp"
#include "support/out_of_memory.hpp"

namespace lx = loadax;
using loadax_test::allocations;
using loadax_test::numbers;
using loadax_test::run_out_of_memory;

namespace {

struct Fixed {
  int label;
  std::array<float, 16> image;
};

/// Samples of both kinds: whose type tells all shapes, and whose does not.
void for_each_dataset(auto&& use) {
  use(numbers(64).map([](int i) { return Fixed{i, {}}; }));
  use(numbers(64).map([](int i) { return std::vector<int>(3, i); }));
}

/// Goes through a pass of 8 batches of 8; returns how many were a bad_alloc.
/// @throws std::logic_error for a wrong row
std::size_t failed_batches(auto it) {
  std::size_t failed = 0;
  for (int k = 0; it != std::default_sentinel; ++it, ++k) {
    try {
      const auto& array = get<0>(*it);
      const std::size_t size = array.size() / 8;
      for (int row = 0; row < 8; ++row)
        if (array.values()[static_cast<std::size_t>(row) * size] != 8 * k + row)
          throw std::logic_error("a wrong row");
    } catch (const std::bad_alloc&) {
      ++failed;
    }
  }
  return failed;
}

}  // namespace

TEST_CASE("memory that runs out is a bad_alloc at the start or at a batch, and nothing leaks") {
  lx::set_log_sink([](lx::LogLevel, std::string_view) {});
  for (const std::size_t workers : {0u, 2u})
    for (const bool for_good : {false, true})
      for_each_dataset([&](const auto& dataset) {
        std::size_t at_start = 0, at_batch = 0;
        run_out_of_memory(for_good, [&] {
          bool has_begun = false;
          try {
            const lx::Dataloader loader{dataset, {.batch_size = 8, .num_workers = workers}};
            auto it = loader.begin();
            has_begun = true;
            at_batch += failed_batches(std::move(it)) > 0;
          } catch (const std::bad_alloc&) {
            if (has_begun) throw std::logic_error("bad_alloc came where no batch was asked for");
            ++at_start;
          }
        });
        CHECK(at_start > 0);
        CHECK(at_batch > 0);
      });
  lx::set_log_sink({});
}

TEST_CASE("a loader whose pass ran out of memory delivers the next one whole") {
  lx::set_log_sink([](lx::LogLevel, std::string_view) {});
  for (const std::size_t workers : {0u, 2u})
    for_each_dataset([&](const auto& dataset) {
      const lx::Dataloader loader{dataset, {.batch_size = 8, .num_workers = workers}};
      run_out_of_memory(true, [&] {
        try {
          (void)failed_batches(loader.begin());
        } catch (const std::bad_alloc&) {
        }
        allocations.fail_no_more();
        if (failed_batches(loader.begin()) > 0) throw std::logic_error("still no memory");
      });
    });
  lx::set_log_sink({});
}

TEST_CASE("samples that are skipped or tried again, limits and timeouts need no more care") {
  lx::set_log_sink([](lx::LogLevel, std::string_view) {});
  for (const bool for_good : {false, true}) {
    std::size_t failed = 0;
    run_out_of_memory(for_good, [&] {
      try {
        const lx::Dataloader loader{numbers(64).map([](int i) {
                                      if (i % 8 == 3) throw loadax_test::Mine(i);
                                      return i;
                                    }),
                                    {.batch_size = 8,
                                     .num_workers = 2,
                                     .on_error = lx::OnError::retry(1).then_skip(),
                                     .timeout = std::chrono::seconds(60),
                                     .max_prefetch_bytes = 200}};
        for (auto it = loader.begin(); it != loader.end(); ++it) {
          try {
            const auto& batch = *it;
            for (std::size_t row = 0; row < 8; ++row)
              if (batch.mask().values()[row] != (row != 3)) throw std::logic_error("a wrong mask");
          } catch (const std::bad_alloc&) {
            ++failed;
          }
        }
      } catch (const std::bad_alloc&) {
        ++failed;
      }
    });
    CHECK(failed > 0);
  }
  lx::set_log_sink({});
}
