// What the threads of one loader load, under which rules.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include <loadax/core/log.hpp>
#include <loadax/data/batch_slot.hpp>
#include <loadax/data/engine_options.hpp>
#include <loadax/data/error_policy.hpp>
#include <loadax/data/load_failure.hpp>
#include <loadax/data/prefetch_budget.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

/// From which batch on the consumer wants batches. Thread-safe.
class WantedBatches {
 public:
  /// Whether the consumer has no use for batch k any more.
  bool is_passed(std::uint64_t k) const noexcept {
    return k < from_.load(std::memory_order_relaxed);
  }
  bool are_none() const noexcept { return from_.load(std::memory_order_relaxed) == none; }

  void pass_to(std::uint64_t k) noexcept {
    auto now = from_.load(std::memory_order_relaxed);
    while (now != none && !from_.compare_exchange_weak(now, k, std::memory_order_relaxed)) {
    }
  }
  void pass_all() noexcept { from_.store(none, std::memory_order_seq_cst); }

 private:
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  std::atomic<std::uint64_t> from_{0};
};

/// Tells the log of skipped samples: of each, as long as they are few. Thread-safe.
class SkipLog {
 public:
  void tell(const LoadFailure& failure) noexcept {
    const std::size_t before = told_.fetch_add(1, std::memory_order_relaxed);
    if (before > most) return;
    try {
      log(LogLevel::warning,
          before < most ? fmt::format("loader: batch {}: a sample was skipped: {}", failure.batch,
                                      where_and_why(failure))
                        : "loader: more samples were skipped, of which only statistics() tells");
    } catch (...) {  // loading matters more than what the sink thinks of it
    }
  }

 private:
  static constexpr std::size_t most = 20;
  std::atomic<std::size_t> told_{0};
};

/// Shared by a loader's threads.
template <class Source, class Sink>
struct LoadTask {
  LoadTask(Source what, Sink where, const EngineOptions& options)
      : source(std::move(what)),
        sink(std::move(where)),
        on_error(options.on_error),
        batches(std::min(source.batches(), unbounded_batches)),
        depth(std::max<std::size_t>(1, std::min<std::uint64_t>(options.depth, batches))),
        max_rows(source.max_rows()),
        budget(options.max_prefetch_bytes, depth),
        slots(std::make_unique<BatchSlot<Source, Sink>[]>(depth)) {}

  BatchSlot<Source, Sink>& slot(std::uint64_t k) const noexcept { return slots[k % depth]; }

  Source source;
  Sink sink;
  OnError on_error;
  std::uint64_t batches;
  std::size_t depth, max_rows;
  PrefetchBudget budget;
  std::unique_ptr<BatchSlot<Source, Sink>[]> slots;  // batch k is loaded into slot k % depth
  WantedBatches wanted;
  SkipLog skip_log;
};

}  // namespace detail
}  // namespace v0
}  // namespace loadax
