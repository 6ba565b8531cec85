// Failures injected at each of the loader's fault points.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/faults.hpp"
#include "support/loading.hpp"
#include "support/quiet.hpp"
#include "support/resources.hpp"

namespace lx = loadax;
using loadax_test::FaultInjector;
using loadax_test::message_of;
using loadax_test::numbers;
using loadax_test::QuietLog;
using loadax_test::Resources;
using loadax_test::worker_counts;
using namespace std::chrono_literals;

namespace {

auto pass_of(std::size_t workers, lx::OnError on_error, bool open_shapes) {
  return [=](auto&& use) {
    const lx::DataloaderOptions options{
        .batch_size = 5, .num_workers = workers, .on_error = on_error};
    const auto dataset = numbers(40).map([](int i) { return i; });
    if (open_shapes) {
      use(lx::Dataloader{dataset.map([](int i) { return std::vector<int>{i}; }), options});
    } else {
      use(lx::Dataloader{dataset, options});
    }
  };
}

constexpr lx::LoadStage of_sample[] = {lx::LoadStage::source, lx::LoadStage::transform,
                                       lx::LoadStage::collate};

}  // namespace

TEST_CASE("a failure at a fault point of a sample is told with that stage and sample") {
  const QuietLog quiet;
  const Resources resources;
  for (const auto stage : of_sample)
    for (const std::size_t workers : worker_counts)
      for (const bool open_shapes : {false, true})
        for (const std::uint64_t bad : {0u, 1u, 13u, 14u, 39u}) {
          const FaultInjector faults([&](std::string_view point, std::uint64_t at) {
            if (point == name(stage) && at == bad) throw std::runtime_error("injected");
          });
          pass_of(workers, lx::OnError::raise(), open_shapes)([&](const auto& loader) {
            INFO(name(stage) << " workers " << workers << " open " << open_shapes << " " << bad);
            std::uint64_t k = 0;
            for (auto it = loader.begin(); it != loader.end(); ++it, ++k) {
              if (k == bad / 5) {
                CHECK(message_of<std::runtime_error>([&] { (void)*it; }) == "injected");
                CHECK(it.failure()->stage == stage);
                CHECK(it.failure()->sample == bad);
                CHECK(it.failure()->batch == k);
              } else {
                CHECK(get<0>(*it).values()[4] == static_cast<int>(5 * k) + 4);
              }
            }
            CHECK(k == 8);
          });
        }
  CHECK(resources.unchanged());
}

TEST_CASE("a sample that fails at a fault point is skipped, or tried again") {
  const QuietLog quiet;
  for (const auto stage : of_sample)
    for (const std::size_t workers : worker_counts)
      for (const bool open_shapes : {false, true}) {
        std::atomic<int> left{2};
        const FaultInjector faults([&](std::string_view point, std::uint64_t at) {
          if (point != name(stage)) return;
          if (at == 15 || at == 38) throw std::runtime_error("always");
          if (at == 22 && left.fetch_sub(1) > 0) throw std::runtime_error("twice");
        });
        pass_of(workers, lx::OnError::retry(2).then_skip(), open_shapes)([&](const auto& loader) {
          int row = 0;
          for (const auto& batch : loader)
            for (std::size_t i = 0; i < 5; ++i, ++row) {
              const bool skipped = row == 15 || row == 38;
              CHECK(batch.mask().values()[i] == !skipped);
              CHECK(get<0>(batch).values()[i] == (skipped ? 0 : row));
            }
          CHECK(row == 40);
        });
      }
}

TEST_CASE("a failure to place or to deliver a batch is the batch's, whatever the policy") {
  const QuietLog quiet;
  for (const auto stage : {lx::LoadStage::open, lx::LoadStage::place, lx::LoadStage::deliver})
    for (const std::size_t workers : worker_counts)
      for (const bool open_shapes : {false, true}) {
        std::atomic<int> calls{0};
        const FaultInjector faults([&](std::string_view point, std::uint64_t at) {
          // Batches are opened and placed in any order; the sixth of these calls fails.
          if (point == name(stage) && (stage == lx::LoadStage::deliver ? at == 5 : calls++ == 5))
            throw std::runtime_error("injected");
        });
        pass_of(workers, lx::OnError::retry(2).then_skip(), open_shapes)([&](const auto& loader) {
          INFO(name(stage) << " workers " << workers << " open shapes " << open_shapes);
          int failed = 0, delivered = 0;
          for (auto it = loader.begin(); it != loader.end(); ++it) {
            try {
              const std::size_t rows = it->rows();
              delivered += rows == 5;
            } catch (const std::runtime_error& error) {
              CHECK(error.what() == std::string("injected"));
              CHECK(it.failure()->stage == stage);
              CHECK(it.failure()->sample == lx::no_sample);
              if (stage == lx::LoadStage::deliver) CHECK(it.failure()->batch == 5);
              ++failed;
            }
          }
          CHECK(failed == 1);
          CHECK(delivered == 7);
        });
      }
}

TEST_CASE("a fault point that hangs is named by the timeout") {
  const QuietLog quiet;
  const Resources resources;
  for (const auto stage : {lx::LoadStage::open, lx::LoadStage::source, lx::LoadStage::transform,
                           lx::LoadStage::collate, lx::LoadStage::place}) {
    const auto gate = std::make_shared<loadax_test::Gate>();
    const FaultInjector faults([gate, stage](std::string_view point, std::uint64_t) {
      if (point == name(stage)) gate->pass();
    });
    {
      const lx::Dataloader loader{numbers(40).map([](int i) { return i; }),
                                  {.batch_size = 5, .num_workers = 2, .timeout = 50ms}};
      auto it = loader.begin();
      try {
        (void)*it;
        FAIL("nothing was thrown");
      } catch (const lx::TimeoutError& error) {
        CHECK(error.stage() == name(stage));
        CHECK(it.failure()->stage == stage);
      }
    }
    gate->open();
    CHECK(resources.unchanged());
  }
}
