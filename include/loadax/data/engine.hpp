// The loader engine: batches in order, loaded ahead by several threads.
//
// The engine knows neither datasets' epochs nor arrays. It takes a source, which says what stands
// in batch number k, and a sink, which owns a batch's memory:
//
//   struct Source {
//     struct Work {                                // default-constructible, movable
//       const auto& dataset() const;               // the samples, as they stand in this epoch
//       std::size_t rows() const;                  // how many rows to load, 1 to max_rows()
//       std::uint64_t position(std::size_t row) const;   // its sample, or `no_sample`: padding
//     };
//     std::uint64_t batches() const;               // how many, or `unbounded_batches`
//     std::size_t max_rows() const;                // of any batch
//     Work batch(std::uint64_t k);                 // by any thread, once for each k not skipped
//   };
//   struct Sink {
//     struct Slot;                                 // memory of a batch, used again and again
//     static constexpr bool needs_example;         // whether shapes are those of a sample
//     void measure(Slot&, std::uint64_t sample, const Example&);   // if so: takes them from it
//     std::size_t bytes(const Slot&, const Work&);    // of the memory that prepare() will make
//     void prepare(Slot&, const Work&);            // makes it, or uses it again
//     void release(Slot&);                         // gives it up
//     void write(Slot&, const Work&, std::size_t row, const Example&);   // to wherever it goes
//     void pad(Slot&, const Work&, std::size_t row);   // a row without a sample, or a skipped one
//     void finish(Slot&, const Work&);             // optional: all rows are written
//   };
//
// So rows may go to several places (shards, replicas), and k may run through many epochs without
// a pause between them. Calls for one batch are: batch(k), measure() until it succeeds once,
// bytes() and prepare() once, write() and pad() from several threads, for each row until it
// succeeds, finish() once. Shapes are those of the first row that can be loaded; where row 0 is
// padding, of the first sample that can be, of rows or of those that Work may tell by
// `shape_samples()`, their number, and `shape_sample(i)`.
//
// How it works. Slots form a ring; batch k is loaded into slot k % depth. A worker claims the next
// range of rows by one atomic addition; ranges are a fraction of a batch, so that all workers work
// on the first batch and a slow sample holds up one range. A slot's stage, one number that only
// grows, says for which batch it is free, opened, prepared, or full; a worker that is a whole ring
// ahead waits for the consumer, the consumer waits for its batch to be full. A failure is kept in
// its slot and thrown at the consumer when it comes to that batch. To skip batches, the consumer
// claims what is left of them itself and frees their slots for those that come in their places.
// What all threads use, the state, is co-owned by each: a worker that hangs in the user's code can
// be left alone with it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <loadax/core/doorbell.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/fault_point.hpp>
#include <loadax/core/log.hpp>
#include <loadax/data/engine_options.hpp>
#include <loadax/data/engine_state.hpp>
#include <loadax/data/engine_workers.hpp>
#include <loadax/data/load_failure.hpp>
#include <loadax/data/loader_statistics.hpp>

namespace loadax {
inline namespace v0 {

/// Loads the batches of a source into the slots of a sink, in order. Used by one thread. Workers
/// take over the state of the thread that makes the engine (the mesh in scope, see
/// core/thread_context.hpp). Destroying the engine at any time joins them as soon as the user's
/// running calls have returned; it asks those to stop, see loading_stop_token().
///
/// Where a wait takes longer than the timeout, it throws TimeoutError, and the engine has given up:
/// its workers end by themselves when the user's calls return, nobody waits for them, and the
/// engine may only be destroyed.
/// @throws EngineError where a thread cannot be started
/// @complexity no allocation in the steady state but the sink's and the user's own
template <class Source, class Sink>
class LoaderEngine {
  using State = detail::EngineState<Source, Sink>;

 public:
  using Work = typename Source::Work;
  using Slot = typename Sink::Slot;

  LoaderEngine(Source source, Sink sink, const EngineOptions& options)
      : state_(std::make_shared<State>(std::move(source), std::move(sink), options)),
        timeout_(options.timeout),
        stop_token_(options.stop_token),
        started_(Clock::now()),
        workers_(state_),
        stop_(stop_token_, Stop{state_}) {
    workers_.start(state_->num_workers());
  }

  /// Whether all batches have been passed.
  bool done() const noexcept { return batch_ >= state_->batches(); }
  /// The number of the current batch.
  std::uint64_t batch() const noexcept { return batch_; }
  std::uint64_t batches_delivered() const noexcept { return delivered_.batches; }
  /// Rows of delivered batches, whether or not they have a sample.
  std::uint64_t rows_delivered() const noexcept { return rows_delivered_; }

  /// The current batch, valid until next(). Waits for it.
  /// @throws StateError where done(), or given up; TimeoutError; CancelledError where the stop
  /// token asks to stop; what was thrown while the batch was loaded, as it was: next() goes on
  /// behind it
  Slot& current() {
    check_usable();
    auto& slot = state_->slot(batch_);
    if (batch_ < undelivered_) return slot.storage;
    if (!failure_) await_batch();
    if (!failure_ && slot.failure) report(failure_.emplace(*slot.failure));
    if (!failure_) try_to_deliver(slot);
    if (failure_) std::rethrow_exception(failure_->error);
    return slot.storage;
  }

  /// Why current() threw; null where it did not.
  const LoadFailure* failure() const noexcept { return failure_ ? &*failure_ : nullptr; }

  /// Gives the current batch up, which is not loaded then if nobody has begun to, and goes to the
  /// next one; does not wait for that.
  /// @throws StateError where done(), or given up; TimeoutError
  void next() {
    check_usable();
    skip_to(batch_ + 1);
  }

  /// Goes to batch k, if it is ahead, without loading what is between and nobody has begun to load.
  /// Behind the last batch, the engine is done.
  /// @throws StateError where given up; TimeoutError
  void skip_to(std::uint64_t k) {
    check_alive();
    k = std::min(k, state_->batches());
    if (k <= batch_) return;
    failure_.reset();
    if (const auto late = state_->pass(batch_, k, deadline_in(timeout_))) give_up(*late);
    undelivered_ = batch_ = k;
  }

  /// How far and how fast it is. Used by the thread that uses the engine.
  LoaderStatistics statistics() const noexcept {
    LoaderStatistics statistics = delivered_;
    state_->add_to(statistics);
    statistics.elapsed = Clock::now() - started_;
    if (asked_ > 0)
      statistics.mean_queue_depth =
          static_cast<double>(loaded_when_asked_) / static_cast<double>(asked_);
    return statistics;
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Stop {
    std::shared_ptr<State> state;
    void operator()() const noexcept { state->stop(); }
  };

  void check_usable() const {
    if (done())
      throw StateError(
          fmt::format("there is no batch {}: the loader has passed its last one", batch_),
          "compare the iterator with end() before * and ++");
    check_alive();
  }
  void check_alive() const {
    if (given_up_)
      throw StateError("the loader gave up after a timeout",
                       "make a new iterator or loader; this one can only be destroyed");
  }

  /// Returns when the current batch is full, or failure_ says that it will not be delivered.
  /// @throws TimeoutError
  void await_batch() {
    const bool asked_before = std::exchange(asked_for_, batch_ + 1) == batch_ + 1;
    if (!asked_before) {
      ++asked_;
      loaded_when_asked_ += state_->loaded();
    }
    if (!state_->is_full(batch_)) {
      const auto start = Clock::now();
      const bool in_time = wait();
      delivered_.consumer_waited += Clock::now() - start;
      if (!in_time) give_up(batch_);
    }
    if (state_->is_stopped()) failure_ = cancelled();
  }
  bool wait() noexcept {
    if (state_->num_workers() > 0) return state_->await_full(batch_, deadline_in(timeout_));
    state_->load(batch_);
    return true;
  }

  LoadFailure cancelled() const {
    return {batch_, no_sample, LoadStage::deliver,
            std::make_exception_ptr(CancelledError(
                fmt::format("loading was cancelled before batch {}", batch_),
                "the loader's stop_token was asked to stop; make a new loader to go on"))};
  }

  void try_to_deliver(auto& slot) noexcept {
    try {
      detail::fault_point(name(LoadStage::deliver), batch_);
      deliver(slot);
    } catch (...) {
      failure_ = {batch_, no_sample, LoadStage::deliver, std::current_exception()};
    }
  }
  void deliver(auto& slot) noexcept {
    undelivered_ = batch_ + 1;
    ++delivered_.batches;
    delivered_.samples += slot.work.rows() - slot.masked_rows.load(std::memory_order_relaxed);
    delivered_.bytes += slot.bytes;
    rows_delivered_ += slot.work.rows();
  }

  /// Leaves the workers alone, and says what they hang at.
  [[noreturn]] void give_up(std::uint64_t late) {
    auto failure = detail::failure_of_hung(state_->activities(), late);
    failure.error = std::make_exception_ptr(TimeoutError(
        std::string(name(failure.stage)),
        fmt::format("batch {} was not loaded within {:g} s: {}", late,
                    std::chrono::duration<double>(*timeout_).count(),
                    detail::describe_hung(state_->activities(), late)),
        "look at what hangs, or raise the timeout; the loader has given up, its threads end when "
        "the calls they are in return"));
    given_up_ = true;
    workers_.detach();
    report(failure_.emplace(std::move(failure)));
    std::rethrow_exception(failure_->error);
  }

  static void report(const LoadFailure& failure) noexcept {
    try {
      log(LogLevel::warning, fmt::format("loader: batch {} was not delivered: {}", failure.batch,
                                         detail::where_and_why(failure)));
    } catch (...) {  // the failure itself matters more than what the sink thinks of it
    }
  }

  std::shared_ptr<State> state_;
  std::optional<std::chrono::nanoseconds> timeout_;
  std::stop_token stop_token_;
  Clock::time_point started_;
  std::uint64_t batch_ = 0, undelivered_ = 0;
  std::uint64_t rows_delivered_ = 0;
  std::uint64_t asked_for_ = 0, asked_ = 0, loaded_when_asked_ = 0;
  LoaderStatistics delivered_;
  std::optional<LoadFailure> failure_;
  bool given_up_ = false;
  detail::EngineWorkers<State> workers_;
  std::stop_callback<Stop> stop_;
};

}  // namespace v0
}  // namespace loadax
