// Waiting, until a deadline, for what other threads do.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace loadax {
inline namespace v0 {

/// A moment by which something must have happened; none: no hurry.
using Deadline = std::optional<std::chrono::steady_clock::time_point>;

/// `allowed` from now; none where that is none, or further away than the clock can tell.
inline Deadline deadline_in(std::optional<std::chrono::nanoseconds> allowed) {
  if (!allowed) return std::nullopt;
  using Clock = std::chrono::steady_clock;
  const auto now = Clock::now();
  if (*allowed > Clock::time_point::max() - now) return std::nullopt;
  return now + *allowed;
}

/// One thread waits for a condition; others make it true and ring. A ring that nobody waits for
/// costs one load.
class Doorbell {
 public:
  /// Returns when ready(), true, or when the deadline has passed, false. What ready() reads are
  /// atomics, read and before ring() written with memory_order_seq_cst. Used by one thread.
  template <class Ready>
  bool wait(const Deadline& deadline, Ready&& ready) {
    for (int i = 0; i < yields; ++i) {
      if (ready()) return true;
      std::this_thread::yield();
    }
    waiting_.store(true, std::memory_order_seq_cst);
    std::unique_lock lock(mutex_);
    const bool rung = wait(lock, deadline, ready);
    waiting_.store(false, std::memory_order_relaxed);
    return rung;
  }

  /// Lets the waiting thread look again. Thread-safe.
  void ring() noexcept {
    if (!waiting_.load(std::memory_order_seq_cst)) return;
    {
      const std::scoped_lock lock(mutex_);
    }
    rung_.notify_all();
  }

 private:
  static constexpr int yields = 16;

  bool wait(std::unique_lock<std::mutex>& lock, const Deadline& deadline, auto& ready) {
    if (deadline) return rung_.wait_until(lock, *deadline, ready);
    rung_.wait(lock, ready);
    return true;
  }

  std::mutex mutex_;
  std::condition_variable rung_;
  alignas(64) std::atomic<bool> waiting_{false};
};

}  // namespace v0
}  // namespace loadax
