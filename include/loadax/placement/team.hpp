// One thread for each local device, which stays between the steps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/barrier.hpp>
#include <loadax/core/error.hpp>
#include <loadax/mesh/scope.hpp>

namespace loadax {
inline namespace v0 {

namespace detail {

/// Set in the threads that run the devices' code.
inline thread_local bool on_device_thread = false;

/// @throws StateError where it is called from the code of a device
inline void check_outside_step() {
  if (on_device_thread)
    throw StateError("a step or a placement was started inside the code of a device",
                     "start it outside of shard_map, or use the context's collectives");
}

}  // namespace detail

/// A persistent team of threads, one for each of a number of devices. Threads start with the first
/// run, wait briefly between runs and then sleep. Thread-safe: runs take turns.
class Team {
 public:
  explicit Team(std::size_t size) : size_(size) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() { stop(); }

  std::size_t size() const noexcept { return size_; }

  /// Calls `code(k)` on thread k for every k < size(), and returns when all have returned. The
  /// mesh in scope is the caller's. Where a call throws, `on_failure()` is called once, to wake
  /// those that wait for it, and the exception is rethrown when all have returned.
  /// @throws StateError where it is called from the code of a device
  template <class Code, class OnFailure>
  void run(Code&& code, OnFailure&& on_failure) {
    detail::check_outside_step();
    if (size_ == 0) return;
    const std::scoped_lock turn(mutex_);
    start();
    auto guarded = [&](std::size_t k) noexcept {
      try {
        code(k);
      } catch (const BarrierAborted&) {
        // Somebody else failed, and says why.
      } catch (...) {
        if (failed_.exchange(true, std::memory_order_acq_rel)) return;
        failure_ = std::current_exception();
        on_failure();
      }
    };
    using Guarded = decltype(guarded);
    job_ = [](void* context, std::size_t k) noexcept { (*static_cast<Guarded*>(context))(k); };
    context_ = &guarded;
    scope_ = detail::current_mesh_context();
    running_.store(static_cast<std::uint32_t>(size_), std::memory_order_relaxed);
    const auto before = done_.load(std::memory_order_relaxed);
    ticket_.fetch_add(1, std::memory_order_release);
    ticket_.notify_all();
    wait_while_equal(done_, before);
    if (failed_.exchange(false, std::memory_order_acq_rel))
      std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  template <class Code>
  void run(Code&& code) {
    run(std::forward<Code>(code), [] {});
  }

 private:
  void start() {
    if (threads_.size() == size_) return;
    try {
      while (threads_.size() < size_) {
        const std::size_t k = threads_.size();
        threads_.emplace_back([this, k] { serve(k); });
      }
    } catch (const std::system_error& error) {
      const auto started = threads_.size();
      stop();
      throw EngineError(
          "threads", error.code().value(),
          fmt::format("{} of {} device threads started: {}", started, size_, error.what()),
          "raise the limit of threads, or use fewer devices");
    }
  }

  void stop() noexcept {
    stopping_.store(true, std::memory_order_release);
    ticket_.fetch_add(1, std::memory_order_release);
    ticket_.notify_all();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    stopping_.store(false, std::memory_order_release);
    ticket_.store(0, std::memory_order_release);
  }

  void serve(std::size_t k) {
    detail::on_device_thread = true;
    for (std::uint32_t seen = 0;;) {
      seen = wait_while_equal(ticket_, seen);
      if (stopping_.load(std::memory_order_acquire)) return;
      {
        std::optional<detail::ScopeAdoption> scope;
        if (scope_ != nullptr) scope.emplace(*scope_);
        job_(context_, k);
      }
      if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        done_.fetch_add(1, std::memory_order_release);
        done_.notify_all();
      }
    }
  }

  std::size_t size_;
  std::mutex mutex_;
  std::vector<std::thread> threads_;

  void (*job_)(void*, std::size_t) noexcept = nullptr;
  void* context_ = nullptr;
  const MeshContext* scope_ = nullptr;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false}, stopping_{false};

  alignas(64) std::atomic<std::uint32_t> ticket_{0};
  alignas(64) std::atomic<std::uint32_t> running_{0};
  alignas(64) std::atomic<std::uint32_t> done_{0};
};

}  // namespace v0
}  // namespace loadax
