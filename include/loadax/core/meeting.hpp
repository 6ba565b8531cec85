// A number of threads that read each other's memory, none leaving while another one reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include <loadax/core/barrier.hpp>

namespace loadax {
inline namespace v0 {

/// A barrier at which threads show each other memory. Where one fails, the others are woken, but
/// each leaves only when nobody reads any more: so what a thread has shown outlives its readers.
class Meeting {
 public:
  explicit Meeting(std::uint32_t threads) noexcept : barrier_(threads) {}

  AbortableBarrier& barrier() noexcept { return barrier_; }

  /// Calls `wait()`, which waits at the barrier, then `read()`, which may call `wait()` too, then
  /// `wait()` once more. What the thread shows must be in place before.
  ///
  /// Where any of them throws, calls `abort()`, which must abort the barrier, unless the exception
  /// says that it is aborted; rethrows when nobody reads. @pre `read` ends by itself
  template <class Wait, class Read, class Abort>
  void meet(Wait&& wait, Read&& read, Abort&& abort) {
    readers_.fetch_add(1, std::memory_order_seq_cst);
    bool reading = true;
    const auto stop_reading = [&] {
      if (reading) readers_.fetch_sub(1, std::memory_order_seq_cst);
      reading = false;
    };
    const auto wait_for_readers = [&] {
      stop_reading();
      while (readers_.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
    };
    try {
      wait();
      read();
      stop_reading();
      wait();
    } catch (const BarrierAborted&) {
      wait_for_readers();
      throw;
    } catch (...) {
      abort();
      wait_for_readers();
      throw;
    }
  }

 private:
  AbortableBarrier barrier_;
  /// Threads that have shown something, or are about to, and have not read all yet.
  alignas(64) std::atomic<std::uint32_t> readers_{0};
};

}  // namespace v0
}  // namespace loadax
