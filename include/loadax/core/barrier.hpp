// Waiting for other threads: a little spinning, then yielding, then sleeping.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace loadax {
inline namespace v0 {

/// Waits until `word` is no longer `old`, and returns what it is. Whoever changes the word calls
/// `notify_all` on it. Fast where the change is near, costs no processor time where it is far.
inline std::uint32_t wait_while_equal(const std::atomic<std::uint32_t>& word,
                                      std::uint32_t old) noexcept {
  constexpr int yields = 256;
  for (int i = 0; i < yields; ++i) {
    const auto now = word.load(std::memory_order_acquire);
    if (now != old) return now;
    std::this_thread::yield();
  }
  for (;;) {
    word.wait(old, std::memory_order_acquire);
    const auto now = word.load(std::memory_order_acquire);
    if (now != old) return now;
  }
}

/// Thrown by AbortableBarrier to those who wait when somebody gave up. It is no std::exception, so
/// that code which catches those does not swallow it.
struct BarrierAborted {};

/// A reusable barrier for a fixed number of threads that one of them can abort for all.
class AbortableBarrier {
 public:
  explicit AbortableBarrier(std::uint32_t threads) noexcept : threads_(threads) {}
  AbortableBarrier(const AbortableBarrier&) = delete;
  AbortableBarrier& operator=(const AbortableBarrier&) = delete;

  /// Returns when all threads have arrived; what they wrote before is visible after. A thread that
  /// has to wait first calls `before_wait(incomplete)` when its own arrival can be seen; it may
  /// throw. `incomplete()` tells whether some thread has still not arrived. The last one to arrive
  /// calls `before_release(n)` before the n others may go on.
  /// @throws BarrierAborted where the barrier is aborted before or meanwhile
  template <class BeforeWait, class BeforeRelease>
  void arrive_and_wait(BeforeWait&& before_wait, BeforeRelease&& before_release) {
    const auto round = round_.load(std::memory_order_acquire);
    if (round & aborted) throw BarrierAborted{};
    if (arrived_.fetch_add(1, std::memory_order_seq_cst) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      before_release(threads_ - 1);
      if (round_.fetch_add(next_round, std::memory_order_seq_cst) & aborted) {
        round_.notify_all();
        throw BarrierAborted{};
      }
      round_.notify_all();
      return;
    }
    before_wait([&] { return round_.load(std::memory_order_seq_cst) == round; });
    if (wait_while_equal(round_, round) & aborted) throw BarrierAborted{};
  }
  void arrive_and_wait() {
    arrive_and_wait([](const auto&) {}, [](std::uint32_t) {});
  }

  /// Whether some, but not all, have arrived.
  bool has_waiters() const noexcept { return arrived_.load(std::memory_order_seq_cst) > 0; }

  /// Wakes everybody; all later waits throw until `reset`. Thread-safe.
  void abort() noexcept {
    round_.fetch_or(aborted, std::memory_order_acq_rel);
    round_.notify_all();
  }

  /// Makes an aborted barrier usable again. @pre no thread waits
  void reset() noexcept {
    arrived_.store(0, std::memory_order_relaxed);
    round_.fetch_and(~aborted, std::memory_order_release);
  }

 private:
  static constexpr std::uint32_t aborted = 1, next_round = 2;

  std::uint32_t threads_;
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> round_{0};
};

}  // namespace v0
}  // namespace loadax
