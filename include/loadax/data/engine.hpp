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
//     static constexpr bool needs_example;         // whether prepare() wants a sample
//     void prepare(Slot&, const Work&, const Example*);   // null unless needs_example
//     void write(Slot&, const Work&, std::size_t row, const Example&);   // to wherever it goes
//     void pad(Slot&, const Work&, std::size_t row);   // only if Work says no_sample
//     void finish(Slot&, const Work&);             // optional: all rows are written
//   };
//
// So rows may go to several places (shards, replicas), and k may run through many epochs without
// a pause between them. Calls for one batch are: batch(k), prepare() once, write() and pad() from
// several threads, for each row once, finish() once. With needs_example, prepare() gets row 0's
// sample; where row 0 is padding, sample number `Work::first_sample()`, which a Work may have.
//
// How it works. Slots form a ring; batch k is loaded into slot k % depth. A worker claims the next
// range of rows by one atomic addition; ranges are a fraction of a batch, so that all workers work
// on the first batch and a slow sample holds up one range. A slot's stage, one number that only
// grows, says for which batch it is free, opened, prepared, or full; a worker that is a whole ring
// ahead waits for the consumer, the consumer waits for its batch to be full. A failure is kept in
// its slot and thrown at the consumer when it comes to that batch. To skip batches, the consumer
// claims what is left of them itself and frees their slots for those that come in their places.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/checked.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/log.hpp>
#include <loadax/core/thread_context.hpp>
#include <loadax/data/engine_state.hpp>
#include <loadax/data/load_failure.hpp>

namespace loadax {
inline namespace v0 {

namespace detail {

inline std::string describe(const LoadFailure& failure) {
  std::string what = "an exception of no standard type";
  try {
    std::rethrow_exception(failure.error);
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  const std::string sample =
      failure.sample == no_sample ? std::string() : fmt::format(", sample {}", failure.sample);
  return fmt::format("loader: batch {} was not delivered: stage {}{}: {}", failure.batch,
                     name(failure.stage), sample, what);
}

/// Worker threads, joined at the end.
template <class State>
class Workers {
 public:
  explicit Workers(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    state_->stop();
    for (auto& thread : threads_) thread.join();
  }

  /// @throws EngineError where a thread cannot be started
  void start(std::size_t count) {
    if (count == 0) return;
    const auto context = std::make_shared<const ThreadContext>(ThreadContext::capture());
    threads_.reserve(count);
    try {
      while (threads_.size() < count)
        threads_.emplace_back([state = state_, context] { state->work(*context); });
    } catch (const std::system_error& error) {
      throw EngineError(
          "threads", error.code().value(),
          fmt::format("{} of {} loader threads started: {}", threads_.size(), count, error.what()),
          "raise the limit of threads, or lower num_workers");
    }
  }

 private:
  std::shared_ptr<State> state_;
  std::vector<std::thread> threads_;
};

}  // namespace detail

/// Loads the batches of a source into the slots of a sink, in order. Used by one thread. Workers
/// take over the state of the thread that makes the engine (the mesh in scope, see
/// core/thread_context.hpp). Destroying the engine at any time joins them as soon as the user's
/// running calls have returned.
/// @throws EngineError where a thread cannot be started
/// @complexity no allocation in the steady state but the sink's and the user's own
template <class Source, class Sink>
class LoaderEngine {
  using State = detail::EngineState<Source, Sink>;

 public:
  using Work = typename Source::Work;
  using Slot = typename Sink::Slot;

  LoaderEngine(Source source, Sink sink, EngineOptions options)
      : state_(std::make_shared<State>(std::move(source), std::move(sink), options)),
        num_workers_(useful_workers(options.num_workers)),
        workers_(state_) {
    workers_.start(num_workers_);
  }

  /// Whether all batches have been passed.
  bool done() const noexcept { return batch_ >= state_->batches(); }
  /// The number of the current batch.
  std::uint64_t batch() const noexcept { return batch_; }
  std::uint64_t batches_delivered() const noexcept { return batches_delivered_; }
  std::uint64_t rows_delivered() const noexcept { return rows_delivered_; }

  /// The current batch, valid until next(). Waits for it.
  /// @throws StateError where done(); what was thrown while the batch was loaded, as it was: next()
  /// goes on behind it
  Slot& current() {
    check_not_done();
    wait();
    auto& slot = state_->slot(batch_);
    if (slot.failure) {
      if (std::exchange(failure_, &*slot.failure) == nullptr) report(*failure_);
      std::rethrow_exception(failure_->error);
    }
    if (batch_ == undelivered_) {
      ++undelivered_;
      ++batches_delivered_;
      rows_delivered_ += slot.work.rows();
    }
    return slot.storage;
  }

  /// Why current() threw; null where it did not.
  const LoadFailure* failure() const noexcept { return failure_; }

  /// Gives the current batch up, which is not loaded then if nobody has begun to, and goes to the
  /// next one; does not wait for that.
  /// @throws StateError where done()
  void next() {
    check_not_done();
    skip_to(batch_ + 1);
  }

  /// Goes to batch k, if it is ahead, without loading what is between and nobody has begun to load.
  /// Behind the last batch, the engine is done.
  void skip_to(std::uint64_t k) noexcept {
    k = std::min(k, state_->batches());
    if (k <= batch_) return;
    failure_ = nullptr;
    state_->pass(batch_, k);
    undelivered_ = batch_ = k;
  }

 private:
  /// More workers than ranges of rows in all would find nothing to do.
  std::size_t useful_workers(std::size_t asked) const noexcept {
    const auto ranges = checked_multiply<std::uint64_t>(state_->batches(), state_->ranges());
    return ranges ? static_cast<std::size_t>(std::min<std::uint64_t>(asked, *ranges)) : asked;
  }

  void check_not_done() const {
    if (done())
      throw StateError(
          fmt::format("there is no batch {}: the loader has passed its last one", batch_),
          "compare the iterator with end() before * and ++");
  }

  void wait() noexcept {
    if (num_workers_ == 0) {
      while (!state_->is_full(batch_)) state_->load_next();
    } else {
      state_->await_full(batch_);
    }
  }

  static void report(const LoadFailure& failure) noexcept {
    try {
      log(LogLevel::warning, detail::describe(failure));
    } catch (...) {  // the failure itself matters more than what the sink thinks of it
    }
  }

  std::shared_ptr<State> state_;
  std::size_t num_workers_;
  std::uint64_t batch_ = 0, undelivered_ = 0;
  std::uint64_t batches_delivered_ = 0, rows_delivered_ = 0;
  const LoadFailure* failure_ = nullptr;
  detail::Workers<State> workers_;
};

}  // namespace v0
}  // namespace loadax
