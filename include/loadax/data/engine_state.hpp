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

/// So many that no stream comes to the end: years at a million batches a second.
inline constexpr std::uint64_t unbounded_batches = std::uint64_t{1} << 48;

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
        batches_(std::min(source_.batches(), unbounded_batches)),
        depth_(std::max<std::size_t>(1, std::min<std::uint64_t>(options.depth, batches_))),
        max_rows_(source_.max_rows()),
        range_(range_size(max_rows_, options.num_workers)),
        ranges_(std::max<std::size_t>(1, ceil_div(max_rows_, range_))),
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
    if (!await(s, k, range == 0 ? free : opened)) return !stopping();
    if (range == 0) open(s, k, unable);
    Rows rows{s, k, range * range_, 0, range == 0};
    rows.end = std::min(rows.row + range_, is_broken(s) ? 0 : s.work.rows());
    if (rows.row < rows.end) {
      if (unable) {
        fail(rows, LoadStage::open, no_sample, unable);
      } else {
        load(rows);
      }
    }
    if (s.ranges_left.fetch_sub(1, std::memory_order_acq_rel) == 1) complete(s, k);
    return !stopping();
  }

  void await_full(std::uint64_t k) noexcept { await(slot(k), k, full); }
  bool is_full(std::uint64_t k) const noexcept {
    return slot(k).stage.load(std::memory_order_acquire) >= stage(k, full);
  }

  /// Gives up batches first to last - 1, the consumer's and those behind it, without loading what
  /// nobody has begun to load. Waits for what is being loaded at most until its next sample.
  void pass(std::uint64_t first, std::uint64_t last) noexcept {
    wanted_from_.store(last, std::memory_order_relaxed);
    const std::uint64_t claimed = claim_up_to(last * ranges_);
    const std::uint64_t end = std::min(last, first + depth_);
    for (std::uint64_t k = first; k < end; ++k) {
      Slot& s = slot(k);
      const std::uint64_t begin = k * ranges_;
      if (begin < claimed) {
        const std::uint64_t unclaimed = begin + ranges_ - std::min(claimed, begin + ranges_);
        if (unclaimed > 0 && s.ranges_left.fetch_sub(static_cast<std::size_t>(unclaimed),
                                                     std::memory_order_acq_rel) == unclaimed)
          publish(s, stage(k, full));
        await_full(k);
      }
      reuse(s, k + ceil_div(last - k, depth_) * depth_);
    }
  }

  /// Makes all workers return once the user's running calls have.
  void stop() noexcept {
    wanted_from_.store(closed, std::memory_order_relaxed);
    for (std::size_t i = 0; i < depth_; ++i) {
      slots_[i].stage.store(closed, std::memory_order_release);
      slots_[i].stage.notify_all();
    }
  }

 private:
  enum Stage : std::uint64_t { free, opened, prepared, full };
  static constexpr std::uint64_t stages = 4;
  static constexpr std::uint64_t closed = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t stage(std::uint64_t k, Stage s) noexcept { return stages * k + s; }

  /// The rows that one call of load_next() has left to load.
  struct Rows {
    Slot& slot;
    std::uint64_t batch;
    std::size_t row, end;
    bool first;  // range 0, whose worker opens and prepares the slot
  };

  static std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) noexcept {
    return a / b + (a % b != 0);
  }
  /// A quarter of a worker's part of a batch.
  static std::size_t range_size(std::size_t rows, std::size_t workers) {
    if (workers == 0) return std::max<std::size_t>(1, rows);
    return std::max<std::size_t>(1, rows / workers / 4);
  }

  static bool is_broken(const Slot& s) noexcept { return s.broken.load(std::memory_order_relaxed); }
  bool stopping() const noexcept { return is_passed(closed - 1); }
  /// Whether the consumer has no use for batch k any more.
  bool is_passed(std::uint64_t k) const noexcept {
    return k < wanted_from_.load(std::memory_order_relaxed);
  }

  /// Claims all ranges up to one, so that nobody loads them; returns the first that was unclaimed.
  std::uint64_t claim_up_to(std::uint64_t last) noexcept {
    std::uint64_t next = claims_.load(std::memory_order_relaxed);
    while (next < last && !claims_.compare_exchange_weak(next, last, std::memory_order_relaxed)) {
    }
    return next;
  }

  /// Waits for a slot to come to a stage of batch k. False where it went on without that batch: the
  /// consumer passed it, or is gone.
  static bool await(Slot& s, std::uint64_t k, Stage wanted_stage) noexcept {
    const std::uint64_t wanted = stage(k, wanted_stage);
    auto now = s.stage.load(std::memory_order_acquire);
    while (now < wanted) {
      s.stage.wait(now, std::memory_order_acquire);
      now = s.stage.load(std::memory_order_acquire);
    }
    return now / stages == k;
  }

  /// Only one thread at a time may publish a slot's next stage; stop() may come in between.
  static void publish(Slot& s, std::uint64_t next) noexcept {
    auto now = s.stage.load(std::memory_order_relaxed);
    while (now != closed && !s.stage.compare_exchange_weak(now, next, std::memory_order_release,
                                                           std::memory_order_relaxed)) {
    }
    s.stage.notify_all();
  }

  /// Empties a slot, for batch k.
  void reuse(Slot& s, std::uint64_t k) noexcept {
    s.failure.reset();
    s.broken.store(false, std::memory_order_relaxed);
    s.ranges_left.store(ranges_, std::memory_order_relaxed);
    publish(s, stage(k, free));
  }

  void open(Slot& s, std::uint64_t k, const std::exception_ptr& unable) noexcept {
    LoadStage doing = LoadStage::open;
    std::uint64_t sample = no_sample;
    bool is_prepared = true;
    transform_threw = false;
    try {
      if (is_passed(k)) {
        s.broken.store(true, std::memory_order_relaxed);
      } else {
        if (unable) std::rethrow_exception(unable);
        s.work = source_.batch(k);
        check_rows(s.work, k);
        is_prepared = prepare_ahead(s, k, doing, sample);
      }
    } catch (...) {
      s.broken.store(true, std::memory_order_relaxed);
      fail(Rows{s, k, 0, 0, true}, stage_that_threw(doing), sample, std::current_exception());
    }
    publish(s, stage(k, is_prepared || is_broken(s) ? prepared : opened));
  }

  void check_rows(const Work& work, std::uint64_t k) const {
    if (work.rows() == 0 || work.rows() > max_rows_)
      throw StateError(fmt::format("batch {} has {} rows", k, work.rows()),
                       fmt::format("the source said 1 to {}, by max_rows()", max_rows_));
  }

  /// Prepares a slot whose row 0 has no part in that. False where row 0's sample is to do it.
  bool prepare_ahead(Slot& s, std::uint64_t k, LoadStage& doing, std::uint64_t& sample) {
    const Work& work = s.work;
    if constexpr (!Sink::needs_example) {
      doing = LoadStage::collate;
      sink_.prepare(s.storage, work, nullptr);
      return true;
    } else {
      if (work.position(0) != no_sample) return false;
      if constexpr (requires { work.first_sample(); }) sample = work.first_sample();
      if (sample == no_sample)
        throw StateError(fmt::format("batch {} has no sample to take its shapes from", k),
                         "row 0 needs a sample, or the source's Work a first_sample()");
      doing = LoadStage::source;
      const auto& example = work.dataset()[static_cast<std::size_t>(sample)];
      doing = LoadStage::collate;
      sink_.prepare(s.storage, work, &example);
      return true;
    }
  }

  /// What a stage is called where it threw.
  static LoadStage stage_that_threw(LoadStage doing) noexcept {
    const bool in_transform = std::exchange(transform_threw, false);
    return in_transform && doing == LoadStage::source ? LoadStage::transform : doing;
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
    return await(rows.slot, rows.batch, prepared) && !is_broken(rows.slot);
  }

  void load(Rows& rows) noexcept {
    LoadStage doing = LoadStage::source;
    transform_threw = false;
    try {
      while (rows.row < rows.end && !is_passed(rows.batch) && load_run(rows, doing)) {
      }
    } catch (...) {
      const std::uint64_t sample = std::as_const(rows.slot.work).position(rows.row);
      fail(rows, stage_that_threw(doing), sample, std::current_exception());
    }
    leave_prepared(rows);
  }

  /// Lets those go on who wait for the slot that these rows should have prepared.
  static void leave_prepared(const Rows& rows) noexcept {
    if (!rows.first || rows.slot.stage.load(std::memory_order_relaxed) != stage(rows.batch, opened))
      return;
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
                      go_on = !is_passed(rows.batch);
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
      if (!await(rows.slot, rows.batch, prepared) || is_broken(rows.slot)) return false;
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
      if (!s.failure && !is_passed(k)) {
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
  std::size_t depth_, max_rows_, range_, ranges_;
  std::unique_ptr<Slot[]> slots_;
  std::atomic<std::uint64_t> wanted_from_{0};  // batches before it are given up
  alignas(64) std::atomic<std::uint64_t> claims_{0};
};

}  // namespace detail
}  // namespace v0
}  // namespace loadax
