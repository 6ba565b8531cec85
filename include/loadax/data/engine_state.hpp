// The ring of batches that the loader engine's threads share.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/core/thread_context.hpp>
#include <loadax/data/dataset.hpp>
#include <loadax/data/load_failure.hpp>

namespace loadax {
inline namespace v0 {

inline constexpr std::uint64_t unbounded_batches = std::numeric_limits<std::uint64_t>::max() / 8;

struct EngineOptions {
  /// Threads; with 0, the consumer's thread loads each batch when it is asked for.
  std::size_t num_workers = 0;
  /// Batches in memory, at least 1: the one in the consumer's hands and those loaded ahead.
  std::size_t depth = 1;
};

namespace detail {

/// What worker threads and the consumer share; each worker co-owns it. See data/engine.hpp.
template <class Source, class Sink>
class EngineState {
 public:
  using Work = typename Source::Work;

  struct alignas(64) Slot {
    std::atomic<std::uint64_t> stage;
    std::atomic<std::size_t> ranges_left;
    std::atomic<bool> broken{false};  // opening or preparing failed: no row can be written
    Work work{};
    typename Sink::Slot storage{};
    std::mutex failure_mutex;
    std::size_t failed_row = 0;
    std::optional<LoadFailure> failure;
  };

  EngineState(Source source, Sink sink, EngineOptions options)
      : source_(std::move(source)),
        sink_(std::move(sink)),
        batches_(source_.batches()),
        depth_(std::max<std::size_t>(1, std::min<std::uint64_t>(options.depth, batches_))),
        range_(range_size(source_.max_rows(), options.num_workers)),
        ranges_(std::max<std::size_t>(1, ceil_div(source_.max_rows(), range_))),
        slots_(std::make_unique<Slot[]>(depth_)) {
    for (std::size_t k = 0; k < depth_; ++k) {
      slots_[k].ranges_left.store(ranges_, std::memory_order_relaxed);
      slots_[k].stage.store(stage(k, free), std::memory_order_relaxed);
    }
  }

  std::uint64_t batches() const noexcept { return batches_; }
  std::size_t ranges() const noexcept { return ranges_; }
  Slot& slot(std::uint64_t k) const noexcept { return slots_[k % depth_]; }

  /// A worker's life.
  void work(const ThreadContext& context) noexcept {
    ThreadContext::Scope scope;
    std::exception_ptr unable;
    try {
      scope = context.adopt();
    } catch (...) {
      unable = std::current_exception();
    }
    while (load_next(unable)) {
    }
  }

  /// Claims the next range of rows and loads it. False where none is left, or the consumer is gone.
  bool load_next(const std::exception_ptr& unable = nullptr) noexcept {
    const std::uint64_t claim = claims_.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t k = claim / ranges_;
    const std::size_t range = static_cast<std::size_t>(claim % ranges_);
    if (k >= batches_) return false;
    Slot& s = slot(k);
    if (range == 0) {
      if (!await(s, stage(k, free))) return false;
      open(s, k);
    } else if (!await(s, stage(k, opened))) {
      return false;
    }
    Rows rows{s, k, range * range_, 0, range == 0};
    rows.end = std::min(rows.row + range_, is_broken(s) ? 0 : s.work.rows());
    if (rows.row < rows.end) {
      if (unable) {
        fail(rows, LoadStage::open, no_sample, unable);
        leave_unprepared(rows);
      } else {
        load(rows);
      }
    }
    if (s.ranges_left.fetch_sub(1, std::memory_order_acq_rel) == 1) complete(s, k);
    return !stopping();
  }

  void await_full(std::uint64_t k) noexcept { await(slot(k), stage(k, full)); }
  bool is_full(std::uint64_t k) const noexcept {
    return slot(k).stage.load(std::memory_order_acquire) >= stage(k, full);
  }

  /// Gives batch k's slot to batch k + depth.
  void release(std::uint64_t k) noexcept {
    Slot& s = slot(k);
    s.failure.reset();
    s.broken.store(false, std::memory_order_relaxed);
    s.ranges_left.store(ranges_, std::memory_order_relaxed);
    publish(s, stage(k + depth_, free));
  }

  /// Makes all workers return once the user's running calls have.
  void stop() noexcept {
    stopping_.store(true, std::memory_order_relaxed);
    for (std::size_t i = 0; i < depth_; ++i) {
      slots_[i].stage.store(closed, std::memory_order_release);
      slots_[i].stage.notify_all();
    }
  }

 private:
  enum Stage : std::uint64_t { free, opened, prepared, full };
  static constexpr std::uint64_t closed = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t stage(std::uint64_t k, Stage s) noexcept { return 4 * k + s; }

  /// The rows that one call of load_next() has left to load.
  struct Rows {
    Slot& slot;
    std::uint64_t batch;
    std::size_t row, end;
    bool first;  // range 0, whose worker opens and prepares the slot
  };

  static std::size_t ceil_div(std::size_t a, std::size_t b) { return a / b + (a % b != 0); }
  /// A quarter of a worker's part of a batch.
  static std::size_t range_size(std::size_t rows, std::size_t workers) {
    if (workers == 0) return std::max<std::size_t>(1, rows);
    return std::max<std::size_t>(1, rows / workers / 4);
  }

  static bool is_broken(const Slot& s) noexcept { return s.broken.load(std::memory_order_relaxed); }
  bool stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }

  /// Waits for a slot to reach a stage. False where the consumer is gone.
  static bool await(Slot& s, std::uint64_t wanted) noexcept {
    auto now = s.stage.load(std::memory_order_acquire);
    while (now < wanted) {
      s.stage.wait(now, std::memory_order_acquire);
      now = s.stage.load(std::memory_order_acquire);
    }
    return now != closed;
  }

  /// Only one thread at a time may publish a slot's next stage; stop() may come in between.
  static void publish(Slot& s, std::uint64_t next) noexcept {
    auto now = s.stage.load(std::memory_order_relaxed);
    while (now != closed && !s.stage.compare_exchange_weak(now, next, std::memory_order_release,
                                                           std::memory_order_relaxed)) {
    }
    s.stage.notify_all();
  }

  void open(Slot& s, std::uint64_t k) noexcept {
    Rows rows{s, k, 0, 0, true};
    LoadStage doing = LoadStage::open;
    try {
      s.work = source_.batch(k);
      if constexpr (!Sink::needs_example) {
        doing = LoadStage::collate;
        sink_.prepare(s.storage, std::as_const(s.work), nullptr);
      }
    } catch (...) {
      s.broken.store(true, std::memory_order_relaxed);
      fail(rows, doing, no_sample, std::current_exception());
    }
    publish(s, stage(k, Sink::needs_example && !is_broken(s) ? opened : prepared));
  }

  /// Whether rows may be written: prepares the slot, or waits for the one who does.
  template <class Example>
  bool ready(Rows& rows, const Example& example) {
    if constexpr (Sink::needs_example) {
      if (rows.first && rows.row == 0) {
        sink_.prepare(rows.slot.storage, std::as_const(rows.slot.work), &example);
        publish(rows.slot, stage(rows.batch, prepared));
      }
    }
    return await(rows.slot, stage(rows.batch, prepared)) && !is_broken(rows.slot);
  }

  void load(Rows& rows) noexcept {
    LoadStage doing = LoadStage::source;
    transform_threw = false;
    try {
      while (rows.row < rows.end && load_run(rows, doing)) {
      }
    } catch (...) {
      if (std::exchange(transform_threw, false) && doing == LoadStage::source)
        doing = LoadStage::transform;
      const std::uint64_t sample = std::as_const(rows.slot.work).position(rows.row);
      fail(rows, doing, sample, std::current_exception());
      leave_unprepared(rows);
    }
  }

  /// Lets those go on who wait for the slot that these rows should have prepared.
  static void leave_unprepared(const Rows& rows) noexcept {
    if (!Sink::needs_example || !rows.first || rows.row != 0) return;
    rows.slot.broken.store(true, std::memory_order_relaxed);
    publish(rows.slot, stage(rows.batch, prepared));
  }

  /// Loads rows whose samples follow each other in the dataset. False to stop.
  bool load_run(Rows& rows, LoadStage& doing) {
    const Work& work = rows.slot.work;
    const std::uint64_t first = work.position(rows.row);
    if (first == no_sample) return pad(rows);
    std::size_t count = 1;
    while (rows.row + count < rows.end && work.position(rows.row + count) == first + count) ++count;
    const std::size_t end = rows.row + count;
    bool go_on = true;
    using View = std::remove_cvref_t<decltype(work.dataset())>;
    detail::visit(work.dataset(), static_cast<std::size_t>(first), count,
                  [&](const example_t<View>& example) -> bool {
                    doing = LoadStage::collate;
                    go_on = ready(rows, example);
                    if (go_on) {
                      sink_.write(rows.slot.storage, work, rows.row, example);
                      ++rows.row;
                      go_on = !stopping();
                    }
                    doing = LoadStage::source;
                    return go_on;
                  });
    if (go_on && rows.row != end)
      throw StateError(fmt::format("the dataset's visit() ended {} samples early", end - rows.row),
                       "visit(first, count, f) calls f for each sample while it returns true");
    return go_on;
  }

  bool pad(Rows& rows) {
    if constexpr (requires(Slot& s) { sink_.pad(s.storage, std::as_const(s.work), rows.row); }) {
      if (!await(rows.slot, stage(rows.batch, prepared)) || is_broken(rows.slot)) return false;
      sink_.pad(rows.slot.storage, std::as_const(rows.slot.work), rows.row);
    }
    ++rows.row;
    return true;
  }

  /// Keeps the failure of the lowest row.
  static void fail(const Rows& rows, LoadStage doing, std::uint64_t sample,
                   std::exception_ptr error) noexcept {
    Slot& s = rows.slot;
    const std::scoped_lock lock(s.failure_mutex);
    if (s.failure && s.failed_row <= rows.row) return;
    s.failed_row = rows.row;
    s.failure = LoadFailure{rows.batch, sample, doing, std::move(error)};
  }

  void complete(Slot& s, std::uint64_t k) noexcept {
    if constexpr (requires { sink_.finish(s.storage, std::as_const(s.work)); }) {
      if (!s.failure && !stopping()) {
        try {
          sink_.finish(s.storage, std::as_const(s.work));
        } catch (...) {
          fail(Rows{s, k, 0, 0, false}, LoadStage::place, no_sample, std::current_exception());
        }
      }
    }
    publish(s, stage(k, full));
  }

  Source source_;
  Sink sink_;
  std::uint64_t batches_;
  std::size_t depth_, range_, ranges_;
  std::unique_ptr<Slot[]> slots_;
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<std::uint64_t> claims_{0};
};

}  // namespace detail
}  // namespace v0
}  // namespace loadax
