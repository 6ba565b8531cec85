// What a thread that loads is at, for others to see.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <utility>

#include <loadax/core/fault_point.hpp>
#include <loadax/data/load_failure.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

/// Written by the one thread that loads, read by any: what it is at, and how long it was busy.
/// Its cache lines are its own.
class alignas(64) WorkerActivity {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Mode : std::uint8_t { absent, busy, idle };

  /// Comes to a stage of a sample (or of no_sample): a point at which tests let something fail.
  void enter(LoadStage stage, std::uint64_t sample = no_sample) {
    set(stage, sample);
    fault_point(name(stage), sample);
  }
  /// The same for the next stage of the sample that it is at.
  void go_on_to(LoadStage stage) {
    set_stage(stage);
    fault_point(name(stage), sample());
  }
  void set(LoadStage stage, std::uint64_t sample = no_sample) noexcept {
    sample_.store(sample, std::memory_order_relaxed);
    set_stage(stage);
  }
  void set_stage(LoadStage stage) noexcept { stage_.store(stage, std::memory_order_relaxed); }
  LoadStage stage() const noexcept { return stage_.load(std::memory_order_relaxed); }
  std::uint64_t sample() const noexcept { return sample_.load(std::memory_order_relaxed); }

  void begin_batch(std::uint64_t batch) noexcept { batch_.store(batch, std::memory_order_relaxed); }
  std::uint64_t batch() const noexcept { return batch_.load(std::memory_order_relaxed); }

  /// From now on busy, idle (waiting for the program or for another thread), or absent.
  void change_to(Mode mode) noexcept {
    const auto now = Clock::now().time_since_epoch().count();
    auto& spent = mode_.load(std::memory_order_relaxed) == Mode::idle ? idle_ : busy_;
    if (mode_.load(std::memory_order_relaxed) != Mode::absent)
      add(spent, now - since_.load(std::memory_order_relaxed));
    since_.store(now, std::memory_order_relaxed);
    mode_.store(mode, std::memory_order_relaxed);
  }
  Mode mode() const noexcept { return mode_.load(std::memory_order_relaxed); }

  /// How long it was in a mode, until now.
  std::chrono::nanoseconds time(Mode mode) const noexcept {
    auto ticks = (mode == Mode::idle ? idle_ : busy_).load(std::memory_order_relaxed);
    if (mode_.load(std::memory_order_relaxed) == mode)
      ticks += Clock::now().time_since_epoch().count() - since_.load(std::memory_order_relaxed);
    return Clock::duration(ticks);
  }

  void count_retry() noexcept { add(retried_, std::uint64_t{1}); }
  void count_skip() noexcept { add(skipped_, std::uint64_t{1}); }
  std::uint64_t retried() const noexcept { return retried_.load(std::memory_order_relaxed); }
  std::uint64_t skipped() const noexcept { return skipped_.load(std::memory_order_relaxed); }

 private:
  /// Only the thread itself writes, so this is no read-modify-write.
  template <class T>
  static void add(std::atomic<T>& sum, T more) noexcept {
    sum.store(sum.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> sample_{no_sample}, batch_{0};
  std::atomic<std::uint64_t> retried_{0}, skipped_{0};
  std::atomic<Clock::rep> since_{0}, busy_{0}, idle_{0};
  std::atomic<LoadStage> stage_{LoadStage::open};
  std::atomic<Mode> mode_{Mode::absent};
};

/// While it lives, a thread that loads waits for others.
class IdleScope {
 public:
  explicit IdleScope(WorkerActivity& activity) noexcept
      : activity_(activity), before_(activity.mode()) {
    activity_.change_to(WorkerActivity::Mode::idle);
  }
  ~IdleScope() { activity_.change_to(before_); }
  IdleScope(const IdleScope&) = delete;
  IdleScope& operator=(const IdleScope&) = delete;

 private:
  WorkerActivity& activity_;
  WorkerActivity::Mode before_;
};

/// What the calling thread is loading, and whether it is asked to stop.
struct LoadingThread {
  WorkerActivity* activity = nullptr;
  const std::stop_token* stop_token = nullptr;
};
inline constinit thread_local LoadingThread loading_thread{};

/// While it lives, the calling thread loads.
class LoadingScope {
 public:
  LoadingScope(WorkerActivity& activity, const std::stop_token& stop_token) noexcept
      : before_(std::exchange(loading_thread, {&activity, &stop_token})) {}
  ~LoadingScope() { loading_thread = before_; }
  LoadingScope(const LoadingScope&) = delete;
  LoadingScope& operator=(const LoadingScope&) = delete;

 private:
  LoadingThread before_;
};

/// f(), a function of the user's that a dataset calls for a sample. Where it throws, the thread's
/// activity stays at the stage `transform`.
template <class F>
decltype(auto) in_transform(F&& f) {
  struct Transforming {
    WorkerActivity* activity = loading_thread.activity;
    LoadStage before{};
    Transforming() {
      if (activity == nullptr) return;
      before = activity->stage();
      activity->go_on_to(LoadStage::transform);
    }
    ~Transforming() {
      if (activity != nullptr) activity->set_stage(before);
    }
  };
  Transforming transforming;
  try {
    return std::forward<F>(f)();
  } catch (...) {
    transforming.activity = nullptr;
    throw;
  }
}

}  // namespace detail

/// In a transform or a source that a loader calls: asked to stop when the loader's iterator is
/// destroyed, when the loader was cancelled, or when it gave up after a timeout. What takes long
/// should look at it, so that nobody has to wait for it. Elsewhere, a token that is never asked.
inline std::stop_token loading_stop_token() noexcept {
  const std::stop_token* const token = detail::loading_thread.stop_token;
  return token != nullptr ? *token : std::stop_token();
}

}  // namespace v0
}  // namespace loadax
