// Loading a range of a batch's rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/data/batch_slot.hpp>
#include <loadax/data/dataset.hpp>
#include <loadax/data/load_failure.hpp>
#include <loadax/data/load_task.hpp>
#include <loadax/data/row_view.hpp>
#include <loadax/data/worker_activity.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

/// Loads the rows from one to another of a batch, in one thread. The one that has row 0 also opens
/// the slot, and prepares it: at once, or, where the sink needs an example, with its first sample
/// that can be loaded. See data/engine.hpp.
template <class Source, class Sink>
class RangeLoader {
  using Work = typename Source::Work;
  using Slot = BatchSlot<Source, Sink>;
  using View = std::remove_cvref_t<decltype(std::declval<const Work&>().dataset())>;
  using Example = example_t<View>;

 public:
  RangeLoader(LoadTask<Source, Sink>& task, Slot& slot, std::uint64_t batch, std::size_t first_row,
              WorkerActivity& activity)
      : task_(task), slot_(slot), batch_(batch), first_(first_row), activity_(activity) {
    activity_.begin_batch(batch);
  }

  /// Says what the batch is, and prepares its slot where no row has a part in that. `unable` tells
  /// why this thread cannot load, or is null.
  /// @pre the range is the batch's first, and the slot is free
  void open(const std::exception_ptr& unable) noexcept {
    SlotStage::Stage reached = SlotStage::prepared;
    try {
      activity_.enter(LoadStage::open);
      if (is_passed()) {
        mark_broken();
      } else {
        if (unable) std::rethrow_exception(unable);
        slot_.work = task_.source.batch(batch_);
        check_rows();
        if constexpr (!Sink::needs_example) {
          prepare();
        } else if (work().position(0) == no_sample) {
          prepare_with_any_sample();
        } else {
          reached = SlotStage::opened;
        }
      }
    } catch (...) {
      fail(std::current_exception());
      mark_broken();
      reached = SlotStage::prepared;
    }
    slot_.stage.publish(batch_, reached);
  }

  /// Loads `rows` rows, or as many as the batch has.
  /// @pre the slot is opened
  void load(std::size_t rows, const std::exception_ptr& unable) noexcept {
    if (slot_.is_broken()) return;
    row_ = first_;
    end_ = std::min(first_ + rows, work().rows());
    if (row_ >= end_) return;
    if (unable) {
      activity_.set(LoadStage::open);
      return fail(unable);
    }
    while (row_ < end_ && !is_passed() && try_to_load()) {
    }
    if (prepares() && !is_prepared()) leave_prepared();
  }

 private:
  const Work& work() const noexcept { return slot_.work; }
  bool is_passed() const noexcept { return task_.wanted.is_passed(batch_); }
  bool prepares() const noexcept { return Sink::needs_example && first_ == 0; }
  bool is_prepared() const noexcept { return slot_.stage.has_reached(batch_, SlotStage::prepared); }
  void mark_broken() noexcept { slot_.broken.store(true, std::memory_order_relaxed); }

  /// The batch fails, at what this thread is at.
  void fail(std::exception_ptr error) noexcept {
    slot_.fail(row_, {batch_, activity_.sample(), activity_.stage(), std::move(error)});
  }

  void check_rows() const {
    if (work().rows() == 0 || work().rows() > task_.max_rows)
      throw StateError(fmt::format("batch {} has {} rows", batch_, work().rows()),
                       fmt::format("the source said 1 to {}, by max_rows()", task_.max_rows));
  }

  void prepare() {
    activity_.enter(LoadStage::place);
    const std::size_t bytes = task_.sink.bytes(std::as_const(slot_.storage), work());
    if (task_.budget.has_limit() && !await_memory(bytes)) return mark_broken();
    task_.sink.prepare(slot_.storage, work());
    slot_.bytes = bytes;
  }

  /// False where the consumer passed the batch meanwhile.
  bool await_memory(std::size_t bytes) {
    const IdleScope idle(activity_);
    slot_.has_memory = task_.budget.admit(
        batch_, bytes, [this](std::size_t slot) { task_.sink.release(task_.slots[slot].storage); },
        [this] { return is_passed(); });
    return slot_.has_memory;
  }

  /// Takes the shapes from the first of the batch's samples that can be read, of this process or
  /// another.
  void prepare_with_any_sample() {
    for (std::size_t i = 0; i < shape_samples(); ++i)
      if (measure(shape_sample(i))) return prepare();
    if (is_passed()) return mark_broken();
    activity_.enter(LoadStage::collate);
    throw StateError(
        fmt::format("batch {} has no sample to take its shapes from", batch_),
        task_.on_error.skips()
            ? "all of its samples were skipped: only examples whose types tell all shapes, such as "
              "std::array, make a batch then"
            : "a batch needs a sample in one of its rows, or the source's Work a shape_sample()");
  }

  std::size_t shape_samples() const {
    if constexpr (requires { work().shape_samples(); }) {
      return work().shape_samples();
    } else {
      return work().rows();
    }
  }
  std::uint64_t shape_sample(std::size_t i) const {
    if constexpr (requires { work().shape_samples(); }) {
      return work().shape_sample(i);
    } else {
      return work().position(i);
    }
  }

  /// Whether the shapes could be taken from that sample.
  /// @throws what the sample's loading does, unless such samples are skipped
  bool measure(std::uint64_t sample) {
    if (sample == no_sample) return false;
    for (std::size_t retries = 0; !is_passed(); ++retries) {
      try {
        activity_.enter(LoadStage::source, sample);
        const auto& example = work().dataset()[static_cast<std::size_t>(sample)];
        activity_.go_on_to(LoadStage::collate);
        task_.sink.measure(slot_.storage, sample, example);
        return true;
      } catch (...) {
        if (retries < task_.on_error.retries()) continue;
        if (!task_.on_error.skips()) throw;
        return false;
      }
    }
    return false;
  }

  /// Loads rows until one fails or cannot be loaded yet. Whether to go on.
  bool try_to_load() noexcept {
    try {
      return load_run();
    } catch (...) {
      return recover(std::current_exception());
    }
  }

  /// Loads rows whose samples follow each other in the dataset. False to stop.
  bool load_run() {
    const std::uint64_t first = work().position(row_);
    if (first == no_sample || row_ == skipped_row_) return pad();
    std::size_t count = 1;
    while (row_ + count < end_ && work().position(row_ + count) == first + count) ++count;
    const std::size_t end = row_ + count;
    if constexpr (ReadsIntoRows<View>) return read_into_rows(first, end);
    std::uint64_t sample = first;
    bool go_on = true;
    activity_.enter(LoadStage::source, sample);
    detail::visit(work().dataset(), static_cast<std::size_t>(first), count,
                  [&](const Example& example) -> bool {
                    activity_.go_on_to(LoadStage::collate);
                    go_on = write(sample, example) && !is_passed();
                    if (go_on && row_ < end) activity_.enter(LoadStage::source, ++sample);
                    return go_on;
                  });
    if (go_on && row_ != end) {
      fail(std::make_exception_ptr(
          StateError(fmt::format("the dataset's visit() ended {} samples early", end - row_),
                     "visit(first, count, f) calls f for each sample while it returns true")));
      return false;
    }
    return go_on;
  }

  /// The same for a dataset that writes its samples in place.
  bool read_into_rows(std::uint64_t sample, std::size_t end) {
    for (; row_ < end; ++sample) {
      activity_.enter(LoadStage::source, sample);
      if (!may_write_ && !await_prepared(sample, nullptr)) return false;
      const auto i = static_cast<std::size_t>(sample);
      if (const auto row = task_.sink.row(slot_.storage, row_)) {
        work().dataset().read_into(i, *row);
        task_.sink.mark_written(slot_.storage, row_);
        ++row_;
      } else {
        const auto& example = work().dataset()[i];
        activity_.go_on_to(LoadStage::collate);
        if (!write(sample, example)) return false;
      }
      if (is_passed()) return false;
    }
    return true;
  }

  bool write(std::uint64_t sample, const Example& example) {
    if (!may_write_ && !await_prepared(sample, &example)) return false;
    task_.sink.write(slot_.storage, work(), row_, example);
    ++row_;
    return true;
  }

  /// Prepares the slot if that is this thread's part and there is an example, or waits for the one
  /// who does. Whether rows can be written.
  bool await_prepared(std::uint64_t sample, const Example* example) {
    if (!is_prepared()) {
      if (prepares() && example != nullptr) {
        prepare_with(sample, *example);
      } else {
        const IdleScope idle(activity_);
        slot_.stage.await(batch_, SlotStage::prepared);
      }
    }
    may_write_ = !slot_.stage.is_closed() && !slot_.is_broken();
    return may_write_;
  }

  void prepare_with([[maybe_unused]] std::uint64_t sample,
                    [[maybe_unused]] const Example& example) {
    if constexpr (Sink::needs_example) {
      task_.sink.measure(slot_.storage, sample, example);
      publish_prepared([this] { prepare(); });
      activity_.enter(LoadStage::collate, sample);
    }
  }

  /// Prepares the slot, pads the rows that were skipped before, and lets the others go on.
  template <class Prepare>
  void publish_prepared(Prepare&& prepare_slot) {
    prepare_slot();
    for (std::size_t row = first_; row < row_ && !slot_.is_broken(); ++row) pad_row(row);
    slot_.stage.publish(batch_, SlotStage::prepared);
  }

  /// Where no sample of this range could be loaded, another one of the batch tells the shapes.
  void leave_prepared() noexcept {
    if constexpr (Sink::needs_example) {
      try {
        if (row_ == end_ && !is_passed())
          return publish_prepared([this] { prepare_with_any_sample(); });
      } catch (...) {
        fail(std::current_exception());
      }
      mark_broken();
      slot_.stage.publish(batch_, SlotStage::prepared);
    }
  }

  /// A row without a sample. Before the slot is prepared, it is left for then.
  bool pad() {
    if (!(prepares() && !is_prepared())) {
      if (!may_write_ && !await_prepared(no_sample, nullptr)) return false;
      pad_row(row_);
    }
    ++row_;
    return true;
  }
  void pad_row(std::size_t row) {
    activity_.enter(LoadStage::place);
    task_.sink.pad(slot_.storage, work(), row);
    slot_.masked_rows.fetch_add(1, std::memory_order_relaxed);
  }

  /// After a failure at row_: whether to go on, by trying it again or by skipping it.
  bool recover(std::exception_ptr error) noexcept {
    const LoadStage stage = activity_.stage();
    const bool of_sample =
        stage == LoadStage::source || stage == LoadStage::transform || stage == LoadStage::collate;
    if (of_sample && !is_passed()) {
      if (row_ != failing_row_) retries_ = 0;
      failing_row_ = row_;
      if (retries_ < task_.on_error.retries()) {
        ++retries_;
        activity_.count_retry();
        return true;
      }
      if (task_.on_error.skips()) {
        skipped_row_ = row_;
        activity_.count_skip();
        task_.skip_log.tell({batch_, work().position(row_), stage, std::move(error)});
        return true;
      }
    }
    fail(std::move(error));
    return false;
  }

  static constexpr std::size_t no_row = std::size_t(-1);

  LoadTask<Source, Sink>& task_;
  Slot& slot_;
  std::uint64_t batch_;
  std::size_t first_, row_ = 0, end_ = 0;
  std::size_t failing_row_ = no_row, skipped_row_ = no_row, retries_ = 0;
  bool may_write_ = false;  // the slot is prepared
  WorkerActivity& activity_;
};

}  // namespace detail
}  // namespace v0
}  // namespace loadax
