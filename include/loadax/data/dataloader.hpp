// Batches of a dataset in the memory of this process.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include <loadax/core/error.hpp>
#include <loadax/data/batch.hpp>
#include <loadax/data/dataset.hpp>
#include <loadax/data/engine.hpp>
#include <loadax/data/engine_options.hpp>
#include <loadax/data/epoch_view.hpp>
#include <loadax/data/error_policy.hpp>
#include <loadax/data/example.hpp>
#include <loadax/data/host_sink.hpp>
#include <loadax/data/load_failure.hpp>
#include <loadax/data/loader_statistics.hpp>
#include <loadax/data/progress.hpp>

namespace loadax {
inline namespace v0 {

struct DataloaderOptions {
  /// Rows of a batch, at least 1.
  std::size_t batch_size = 1;
  /// Threads that load; with 0, the thread that asks for a batch loads it.
  std::size_t num_workers = 0;
  /// Batches loaded ahead for each worker, at least 1. Memory is bounded by
  /// num_workers * prefetch_factor + 1 batches.
  std::size_t prefetch_factor = 2;
  /// Whether a last batch of fewer rows is left out; it is not loaded then.
  bool drop_last = false;
  /// What becomes of a sample that cannot be loaded. With a policy that skips, every batch has a
  /// `mask()`, false in the rows of skipped samples, which are zero.
  OnError on_error = OnError::raise();
  /// How long the program waits for a batch, `20s` for example; only with workers. Then it gets a
  /// TimeoutError that tells what hangs, and the iterator is dead.
  std::optional<std::chrono::nanoseconds> timeout = std::nullopt;
  /// Where it asks to stop, the next batch is a CancelledError.
  std::stop_token stop_token = {};
  /// Bytes of the batches in memory, which are fewer where they would be more.
  std::optional<std::size_t> max_prefetch_bytes = std::nullopt;
};

namespace detail {

/// The batches of one epoch, in order. (A source of the loader engine.)
template <Dataset D>
class EpochSource {
 public:
  class Work {
   public:
    Work() = default;
    Work(const epoch_view_t<D>& dataset, std::uint64_t first, std::size_t rows)
        : dataset_(&dataset), first_(first), rows_(rows) {}
    const epoch_view_t<D>& dataset() const noexcept { return *dataset_; }
    std::size_t rows() const noexcept { return rows_; }
    std::uint64_t position(std::size_t row) const noexcept { return first_ + row; }

   private:
    const epoch_view_t<D>* dataset_ = nullptr;
    std::uint64_t first_ = 0;
    std::size_t rows_ = 0;
  };

  EpochSource(EpochView<D> view, std::size_t batch_size, bool drop_last)
      : view_(std::move(view)), size_(view_->size()), batch_size_(batch_size) {
    if (drop_last) size_ -= size_ % batch_size_;
  }

  /// Samples that belong to a batch.
  std::uint64_t size() const noexcept { return size_; }
  std::uint64_t batches() const noexcept {
    return size_ / batch_size_ + (size_ % batch_size_ != 0);
  }
  std::size_t max_rows() const noexcept {
    return static_cast<std::size_t>(std::min<std::uint64_t>(batch_size_, size_));
  }
  Work batch(std::uint64_t k) const noexcept {
    const std::uint64_t first = k * batch_size_;
    return {*view_, first, static_cast<std::size_t>(std::min(size_ - first, batch_size_))};
  }

 private:
  EpochView<D> view_;
  std::uint64_t size_, batch_size_;
};

/// A counter that a copy continues on its own.
class PassCounter {
 public:
  PassCounter() = default;
  PassCounter(const PassCounter& other) noexcept : passes_(other.passes_.load()) {}
  PassCounter& operator=(const PassCounter& other) noexcept {
    passes_ = other.passes_.load();
    return *this;
  }
  std::uint64_t next() const noexcept { return passes_++; }

 private:
  mutable std::atomic<std::uint64_t> passes_{0};
};

}  // namespace detail

/// A type that is no dataset has no loader.
template <class D>
class Dataloader {
 public:
  explicit Dataloader(D, const DataloaderOptions& = {})
      __attribute__((unavailable("loadax: this is no dataset: give it `size() const` and "
                                 "`operator[](std::size_t) const`, which returns a sample")));
};
template <class D>
explicit Dataloader(D, const DataloaderOptions& = {}) -> Dataloader<D>;

/// Stacks the samples of a dataset into batches, in the dataset's order. A loader is a definition:
/// iterators hold all state, several may run at once, and each co-owns the dataset. Looping over it
/// is the next epoch each time; `epoch(e)` is epoch e.
///
/// An exception thrown while a batch is loaded is thrown, as it was, where that batch would have
/// been delivered, after all batches before it; `iterator.failure()` and the log tell which sample
/// and stage, and `++iterator` goes on behind it. `options.on_error` may ask for other tries, or
/// for such a sample to be skipped.
template <Dataset D>
class Dataloader<D> {
  static_assert(ExampleType<example_t<D>>,
                "loadax: an example must be a field, or a tuple, pair or aggregate of 1 to 16 "
                "fields; specialise loadax::field<F> for a type of your own");

 public:
  using example_type = example_t<D>;
  using batch_type = Batch<example_type>;
  class iterator;
  class Pass;

  /// @throws ArgumentError for a batch_size or prefetch_factor of 0, and a timeout that is not
  /// positive or without workers
  explicit Dataloader(D dataset, const DataloaderOptions& options = {})
      : dataset_(std::make_shared<const D>(std::move(dataset))), options_(options) {
    if (options.batch_size == 0)
      throw ArgumentError("Dataloader: batch_size is 0", "a batch has at least 1 row");
    (void)detail::engine_options("Dataloader", options);
  }
  /// To move is to copy, so that no loader is ever empty.
  Dataloader(const Dataloader&) = default;
  Dataloader& operator=(const Dataloader&) = default;

  const D& dataset() const noexcept { return *dataset_; }
  const DataloaderOptions& options() const noexcept { return options_; }

  /// A pass over epoch e.
  Pass epoch(std::uint64_t e) const { return Pass(dataset_, options_, e); }

  /// Starts loading the next epoch: 0, then 1, ... Thread-safe.
  iterator begin() const { return epoch(passes_.next()).begin(); }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  std::shared_ptr<const D> dataset_;
  DataloaderOptions options_;
  detail::PassCounter passes_;
};

/// One epoch. Each begin() loads it anew.
template <Dataset D>
class Dataloader<D>::Pass {
 public:
  /// To move is to copy.
  Pass(const Pass&) = default;
  Pass& operator=(const Pass&) = default;

  std::uint64_t epoch() const noexcept { return epoch_; }

  /// Starts loading.
  /// @throws EngineError where a thread cannot be started
  iterator begin() const { return iterator(dataset_, options_, epoch_); }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  friend class Dataloader;
  Pass(std::shared_ptr<const D> dataset, const DataloaderOptions& options, std::uint64_t epoch)
      : dataset_(std::move(dataset)), options_(options), epoch_(epoch) {}

  std::shared_ptr<const D> dataset_;
  DataloaderOptions options_;
  std::uint64_t epoch_;
};

/// Delivers the batches of one epoch (an input iterator). Destroying it at any time joins the
/// workers as soon as the user's running calls have returned.
template <Dataset D>
class Dataloader<D>::iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = batch_type;
  using difference_type = std::ptrdiff_t;

  /// The batch, valid until `++`; move from it to keep it. Waits for it.
  /// @throws StateError at the end; what was thrown while it was loaded
  batch_type& operator*() const { return engine().current().batch; }
  batch_type* operator->() const { return &**this; }
  /// Goes to the next batch, whether or not this one was looked at; does not wait for it.
  /// @throws StateError at the end
  iterator& operator++() {
    engine().next();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const iterator& it, std::default_sentinel_t) { return it.engine().done(); }

  /// Why the batch could not be loaded; null where `*iterator` did not throw.
  const LoadFailure* failure() const { return engine().failure(); }

  Progress progress() const {
    Progress progress = total_;
    progress.items_processed = engine().rows_delivered();
    progress.batches_processed = engine().batches_delivered();
    return progress;
  }

  /// How fast it is, and where the time goes. Call it in the thread that uses the iterator.
  LoaderStatistics statistics() const { return engine().statistics(); }

 private:
  friend class Pass;
  using Source = detail::EpochSource<D>;
  using Engine = LoaderEngine<Source, HostSink<example_type>>;

  iterator(std::shared_ptr<const D> dataset, const DataloaderOptions& options,
           std::uint64_t epoch) {
    Source source(make_epoch_view(std::move(dataset), epoch), options.batch_size,
                  options.drop_last);
    total_ = {.epoch = epoch, .items_total = source.size(), .batches_total = source.batches()};
    engine_ = std::make_unique<Engine>(std::move(source),
                                       HostSink<example_type>(options.on_error.skips()),
                                       detail::engine_options("Dataloader", options));
  }

  Engine& engine() const {
    if (!engine_)
      throw StateError("a moved-from Dataloader iterator was used", "use the one it was moved to");
    return *engine_;
  }

  Progress total_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace v0
}  // namespace loadax
