// One place of the loader engine's ring: a batch's memory, and how far the batch is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include <loadax/data/load_failure.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

/// For which batch a slot is free, opened, prepared or full: a number that only grows, until it is
/// closed, which is beyond all.
class SlotStage {
 public:
  enum Stage : std::uint64_t { free, opened, prepared, full };

  /// @pre nobody else uses it yet
  void start_with(std::uint64_t k) noexcept {
    value_.store(value(k, free), std::memory_order_relaxed);
  }

  /// Whether it is at that stage of batch k, or beyond.
  bool has_reached(std::uint64_t k, Stage stage) const noexcept {
    return value_.load(std::memory_order_seq_cst) >= value(k, stage);
  }
  bool is_closed() const noexcept { return value_.load(std::memory_order_relaxed) == closed; }

  /// Waits until has_reached(). False where it went on without that batch: the consumer passed it,
  /// or is gone.
  bool await(std::uint64_t k, Stage stage) const noexcept {
    const std::uint64_t wanted = value(k, stage);
    auto now = value_.load(std::memory_order_acquire);
    while (now < wanted) {
      value_.wait(now, std::memory_order_acquire);
      now = value_.load(std::memory_order_acquire);
    }
    return now / stages == k;
  }

  /// Only one thread at a time may publish; close() may come in between.
  void publish(std::uint64_t k, Stage stage) noexcept {
    auto now = value_.load(std::memory_order_relaxed);
    while (now != closed && !value_.compare_exchange_weak(now, value(k, stage))) {
    }
    value_.notify_all();
  }
  void close() noexcept {
    value_.store(closed, std::memory_order_seq_cst);
    value_.notify_all();
  }

 private:
  static constexpr std::uint64_t stages = 4;
  static constexpr std::uint64_t closed = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t value(std::uint64_t k, Stage stage) noexcept {
    return stages * k + stage;
  }
  std::atomic<std::uint64_t> value_{0};
};

/// See data/engine.hpp.
template <class Source, class Sink>
struct alignas(64) BatchSlot {
  SlotStage stage;
  std::atomic<std::size_t> ranges_left{0};
  std::atomic<bool> broken{false};  // opening or preparing failed: no row can be written
  std::atomic<std::size_t> masked_rows{0};
  bool has_memory = false;  // the budget has let the batch have it
  std::size_t bytes = 0;
  typename Source::Work work{};
  typename Sink::Slot storage{};

  bool is_broken() const noexcept { return broken.load(std::memory_order_relaxed); }

  /// Keeps the failure of the lowest row.
  void fail(std::size_t row, LoadFailure failure_of_row) noexcept {
    const std::scoped_lock lock(failure_mutex);
    if (failure && failed_row <= row) return;
    failed_row = row;
    failure = std::move(failure_of_row);
  }

  /// Empties it for another batch.
  void clear() noexcept {
    failure.reset();
    broken.store(false, std::memory_order_relaxed);
    masked_rows.store(0, std::memory_order_relaxed);
    has_memory = false;
    bytes = 0;
  }

  std::optional<LoadFailure> failure;

 private:
  std::mutex failure_mutex;
  std::size_t failed_row = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace loadax
