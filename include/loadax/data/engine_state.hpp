// The ring of batches that the loader engine's threads share.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>

#include <loadax/core/checked.hpp>
#include <loadax/core/doorbell.hpp>
#include <loadax/core/thread_context.hpp>
#include <loadax/data/batch_slot.hpp>
#include <loadax/data/engine_options.hpp>
#include <loadax/data/load_failure.hpp>
#include <loadax/data/load_task.hpp>
#include <loadax/data/loader_statistics.hpp>
#include <loadax/data/range_loader.hpp>
#include <loadax/data/worker_activity.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

/// What worker threads and the consumer share; each worker co-owns it. See data/engine.hpp.
template <class Source, class Sink>
class EngineState {
 public:
  using Slot = BatchSlot<Source, Sink>;

  EngineState(Source source, Sink sink, const EngineOptions& options)
      : task_(std::move(source), std::move(sink), options),
        range_(range_size(task_.max_rows, options.num_workers)),
        ranges_(std::max<std::size_t>(1, ceil_div(task_.max_rows, range_))),
        num_workers_(useful_workers(options.num_workers)),
        activities_(std::make_unique<WorkerActivity[]>(std::max<std::size_t>(1, num_workers_))) {
    for (std::size_t k = 0; k < task_.depth; ++k) {
      slot(k).ranges_left.store(ranges_, std::memory_order_relaxed);
      slot(k).stage.start_with(k);
    }
  }

  std::uint64_t batches() const noexcept { return task_.batches; }
  std::size_t num_workers() const noexcept { return num_workers_; }
  Slot& slot(std::uint64_t k) const noexcept { return task_.slot(k); }
  /// One for each worker, or for the consumer where it loads.
  std::span<const WorkerActivity> activities() const noexcept {
    return {activities_.get(), std::max<std::size_t>(1, num_workers_)};
  }

  /// A worker's life.
  void work(std::size_t worker, const ThreadContext& context) noexcept {
    WorkerActivity& activity = activities_[worker];
    activity.change_to(WorkerActivity::Mode::busy);
    {
      ThreadContext::Scope scope;
      std::exception_ptr unable = adopt(context, scope);
      const LoadingScope loading(activity, stop_token_);
      while (load_next(activity, unable))
        if (unable) unable = adopt(context, scope);
    }
    activity.change_to(WorkerActivity::Mode::absent);
  }

  /// Loads batch k in the consumer's thread. @pre there are no workers
  void load(std::uint64_t k) noexcept {
    const LoadingScope loading(activities_[0], stop_token_);
    while (!is_full(k)) load_next(activities_[0], nullptr);
  }

  bool is_full(std::uint64_t k) const noexcept {
    return slot(k).stage.has_reached(k, SlotStage::full);
  }
  /// Waits until batch k is full, or loading was stopped. False where it takes too long.
  bool await_full(std::uint64_t k, const Deadline& deadline) noexcept {
    return is_full(k) || doorbell_.wait(deadline, [&] { return is_full(k); });
  }

  /// Gives up batches first to last - 1, the consumer's and those behind it, without loading what
  /// nobody has begun to load. Waits for what is being loaded at most until its next sample.
  /// Returns the batch for which that takes too long, if there is one.
  std::optional<std::uint64_t> pass(std::uint64_t first, std::uint64_t last,
                                    const Deadline& deadline) noexcept {
    task_.wanted.pass_to(last);
    if (task_.budget.has_limit()) task_.budget.pass_to(last);
    const std::uint64_t claimed = claim_up_to(last * ranges_);
    const std::uint64_t end = std::min(last, first + task_.depth);
    for (std::uint64_t k = first; k < end; ++k) {
      Slot& s = slot(k);
      const std::uint64_t begin = k * ranges_;
      if (begin < claimed) {
        const std::uint64_t unclaimed = begin + ranges_ - std::min(claimed, begin + ranges_);
        if (unclaimed > 0 && are_last(s, unclaimed)) complete(s, k);
        if (!await_full(k, deadline)) return k;
        if (s.stage.is_closed()) return std::nullopt;  // others may still be at it
        loaded_.fetch_sub(1, std::memory_order_relaxed);
        if (task_.budget.has_limit()) task_.budget.give_back(k);
      }
      s.clear();
      s.ranges_left.store(ranges_, std::memory_order_relaxed);
      s.stage.publish(k + ceil_div(last - k, task_.depth) * task_.depth, SlotStage::free);
    }
    return std::nullopt;
  }

  /// Makes all workers return once the user's running calls have. Thread-safe.
  void stop() noexcept {
    task_.wanted.pass_all();
    stop_source_.request_stop();
    for (std::size_t i = 0; i < task_.depth; ++i) task_.slots[i].stage.close();
    task_.budget.pass_to(batches());
    doorbell_.ring();
  }
  bool is_stopped() const noexcept { return task_.wanted.are_none(); }

  /// What the workers did, and the queue as it is.
  void add_to(LoaderStatistics& statistics) const noexcept {
    for (const WorkerActivity& activity : activities()) {
      statistics.skipped += activity.skipped();
      statistics.retried += activity.retried();
      statistics.workers_busy += activity.time(WorkerActivity::Mode::busy);
      statistics.workers_idle += activity.time(WorkerActivity::Mode::idle);
    }
    statistics.workers = num_workers_;
    statistics.queue_depth = loaded();
    statistics.queue_capacity = task_.depth;
  }
  /// Batches that are full.
  std::size_t loaded() const noexcept { return loaded_.load(std::memory_order_relaxed); }

 private:
  static std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) noexcept {
    return a / b + (a % b != 0);
  }
  /// A quarter of a worker's part of a batch.
  static std::size_t range_size(std::size_t rows, std::size_t workers) {
    if (workers == 0) return std::max<std::size_t>(1, rows);
    return std::max<std::size_t>(1, rows / workers / 4);
  }
  /// More workers than ranges of rows in all would find nothing to do.
  std::size_t useful_workers(std::size_t asked) const noexcept {
    const auto ranges = checked_multiply<std::uint64_t>(batches(), ranges_);
    return ranges ? static_cast<std::size_t>(std::min<std::uint64_t>(asked, *ranges)) : asked;
  }

  /// Returns why this thread cannot load, or null.
  static std::exception_ptr adopt(const ThreadContext& context,
                                  ThreadContext::Scope& scope) noexcept {
    try {
      scope = context.adopt();
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  /// Claims the next range of rows and loads it. False where none is left, or the consumer is gone.
  bool load_next(WorkerActivity& activity, const std::exception_ptr& unable) noexcept {
    const std::uint64_t claim = claims_.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t k = claim / ranges_;
    const std::size_t range = static_cast<std::size_t>(claim % ranges_);
    if (k >= batches()) return false;
    Slot& s = slot(k);
    if (!await(s, k, range == 0 ? SlotStage::free : SlotStage::opened, activity))
      return !is_stopped();
    RangeLoader<Source, Sink> rows(task_, s, k, range * range_, activity);
    if (range == 0) rows.open(unable);
    rows.load(range_, unable);
    if (are_last(s, 1)) {
      finish(s, k, activity);
      complete(s, k);
    }
    return !is_stopped();
  }

  static bool await(Slot& s, std::uint64_t k, SlotStage::Stage stage,
                    WorkerActivity& activity) noexcept {
    if (s.stage.has_reached(k, stage)) return s.stage.await(k, stage);
    const IdleScope idle(activity);
    return s.stage.await(k, stage);
  }

  /// Claims all ranges up to one, so that nobody loads them; returns the first that was unclaimed.
  std::uint64_t claim_up_to(std::uint64_t last) noexcept {
    std::uint64_t next = claims_.load(std::memory_order_relaxed);
    while (next < last && !claims_.compare_exchange_weak(next, last, std::memory_order_relaxed)) {
    }
    return next;
  }

  /// Whether these ranges, which are done, were the last ones of their batch.
  static bool are_last(Slot& s, std::uint64_t ranges) noexcept {
    return s.ranges_left.fetch_sub(ranges, std::memory_order_acq_rel) == ranges;
  }

  void finish(Slot& s, std::uint64_t k, WorkerActivity& activity) noexcept {
    if constexpr (requires { task_.sink.finish(s.storage, std::as_const(s.work)); }) {
      if (s.failure || task_.wanted.is_passed(k)) return;
      try {
        activity.enter(LoadStage::place);
        task_.sink.finish(s.storage, std::as_const(s.work));
      } catch (...) {
        s.fail(0, {k, no_sample, LoadStage::place, std::current_exception()});
      }
    }
  }

  /// All that will be done for a batch was.
  void complete(Slot& s, std::uint64_t k) noexcept {
    if (task_.budget.has_limit() && !s.has_memory)
      task_.budget.forgo(k, [&] { return task_.wanted.is_passed(k); });
    loaded_.fetch_add(1, std::memory_order_relaxed);
    s.stage.publish(k, SlotStage::full);
    doorbell_.ring();
  }

  LoadTask<Source, Sink> task_;
  std::size_t range_, ranges_, num_workers_;
  std::unique_ptr<WorkerActivity[]> activities_;
  std::stop_source stop_source_;
  std::stop_token stop_token_ = stop_source_.get_token();
  Doorbell doorbell_;
  alignas(64) std::atomic<std::size_t> loaded_{0};
  alignas(64) std::atomic<std::uint64_t> claims_{0};
};

}  // namespace detail
}  // namespace v0
}  // namespace loadax
