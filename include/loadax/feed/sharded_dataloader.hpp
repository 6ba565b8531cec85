// Batches of a dataset over the devices of a mesh.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include <fmt/core.h>

#include <loadax/core/checked.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/log.hpp>
#include <loadax/data/batch.hpp>
#include <loadax/data/dataset.hpp>
#include <loadax/data/engine.hpp>
#include <loadax/data/engine_options.hpp>
#include <loadax/data/epoch_view.hpp>
#include <loadax/data/error_policy.hpp>
#include <loadax/data/example.hpp>
#include <loadax/data/load_failure.hpp>
#include <loadax/data/loader_statistics.hpp>
#include <loadax/data/progress.hpp>
#include <loadax/feed/sharded_sink.hpp>
#include <loadax/mesh/scope.hpp>
#include <loadax/placement/runtime.hpp>
#include <loadax/sharding/named_sharding.hpp>
#include <loadax/sharding/partition_spec.hpp>

namespace loadax {
inline namespace v0 {

/// What becomes of the samples that do not fill a last batch.
enum class Tail {
  /// They are left out of this epoch.
  drop,
  /// The last batch is filled up with zero rows; every batch has a `mask()`, false in those.
  /// Devices
  /// then differ in how many rows count: a mean is the psum of the rows' sums over the psum of
  /// their
  /// number, not the pmean of means.
  pad
};

struct ShardedDataloaderOptions {
  /// Rows of a batch over all devices, at least 1; its sharding must divide it.
  std::size_t global_batch_size = 1;
  std::uint64_t epochs = 1;
  /// Threads that load; with 0, the thread that asks for a batch loads it.
  std::size_t num_workers = 0;
  /// Batches loaded ahead for each worker, at least 1. Memory is bounded by
  /// num_workers * prefetch_factor + 1 batches, and those that the program keeps.
  std::size_t prefetch_factor = 2;
  Tail tail = Tail::drop;
  /// What becomes of a sample that cannot be loaded. With a policy that skips, every batch has a
  /// `mask()`, false in the rows of skipped samples, which are zero. Each process masks its own.
  OnError on_error = OnError::raise();
  /// How long the program waits for a batch, `20s` for example; only with workers. Then it gets a
  /// TimeoutError that tells what hangs, and the loader is dead.
  std::optional<std::chrono::nanoseconds> timeout = std::nullopt;
  /// Where it asks to stop, the next batch is a CancelledError.
  std::stop_token stop_token = {};
  /// Bytes of the batches in this process's memory, which are fewer where they would be more.
  std::optional<std::size_t> max_prefetch_bytes = std::nullopt;
};

namespace detail {

/// The batches of several epochs, one after the other. (A source of the loader engine.)
template <Dataset D>
class StreamSource {
 public:
  class Work {
   public:
    Work() = default;
    Work(EpochView<D> view, std::shared_ptr<const LocalRows> rows, std::uint64_t first,
         std::uint64_t samples)
        : view_(std::move(view)), rows_(std::move(rows)), first_(first), samples_(samples) {}
    const epoch_view_t<D>& dataset() const noexcept { return *view_; }
    std::size_t rows() const noexcept { return rows_->size(); }
    std::uint64_t position(std::size_t row) const noexcept {
      const std::uint64_t global = rows_->global(row);
      return global < samples_ ? first_ + global : no_sample;
    }
    /// Those of the global batch, where this process has none that tells the batch's shapes.
    std::size_t shape_samples() const noexcept { return static_cast<std::size_t>(samples_); }
    std::uint64_t shape_sample(std::size_t i) const noexcept { return first_ + i; }

   private:
    EpochView<D> view_;
    std::shared_ptr<const LocalRows> rows_;
    std::uint64_t first_ = 0, samples_ = 0;
  };

  /// At most `depth` batches are loaded at a time.
  StreamSource(const std::shared_ptr<const D>& dataset, std::shared_ptr<const LocalRows> rows,
               const ShardedDataloaderOptions& options, std::size_t depth)
      : rows_(std::move(rows)),
        size_(dataset->size()),
        batch_size_(options.global_batch_size),
        epochs_(options.epochs) {
    epoch_batches_ = size_ / batch_size_;
    if (options.tail == Tail::pad && size_ % batch_size_ != 0) ++epoch_batches_;
    const std::uint64_t span = epoch_batches_ == 0 ? 0 : depth / epoch_batches_;
    views_ = std::make_unique<EpochViews<D>>(dataset, span + 2);
  }

  std::uint64_t epochs() const noexcept { return epochs_; }
  std::uint64_t epoch_batches() const noexcept { return epoch_batches_; }
  /// Samples that belong to a batch, in an epoch.
  std::uint64_t epoch_samples() const noexcept {
    return std::min(size_, epoch_batches_ * batch_size_);
  }
  std::uint64_t batches() const noexcept {
    return std::min(checked_multiply(epochs_, epoch_batches_).value_or(unbounded_batches),
                    unbounded_batches);
  }
  std::size_t max_rows() const noexcept { return rows_->size(); }
  /// @throws ArgumentError where the dataset has another size in the batch's epoch
  Work batch(std::uint64_t k) {
    const std::uint64_t epoch = k / epoch_batches_, first = k % epoch_batches_ * batch_size_;
    auto view = views_->at(epoch);
    if (const std::uint64_t size = view->size(); size != size_)
      throw ArgumentError(
          fmt::format("ShardedDataloader: the dataset has {} samples in epoch {}, where it said {}",
                      size, epoch, size_),
          "a stream's epochs have one size: make the dataset's for_epoch() keep it, or use one "
          "loader for each epoch");
    return {std::move(view), rows_, first, std::min(size_ - first, batch_size_)};
  }

 private:
  std::shared_ptr<const LocalRows> rows_;
  std::unique_ptr<EpochViews<D>> views_;
  std::uint64_t size_, batch_size_, epochs_, epoch_batches_ = 0;
};

}  // namespace detail

/// A type that is no dataset has no loader.
template <class D>
class ShardedDataloader {
 public:
  ShardedDataloader(D, const PartitionSpec&, const ShardedDataloaderOptions& = {})
      __attribute__((unavailable("loadax: this is no dataset: give it `size() const` and "
                                 "`operator[](std::size_t) const`, which returns a sample")));
};
template <class D>
ShardedDataloader(D, const PartitionSpec&, const ShardedDataloaderOptions& = {})
    -> ShardedDataloader<D>;

/// One stream of global batches over several epochs: rows go straight from the dataset to the
/// devices that hold them, each process reading only its own devices' rows. Which samples make up
/// global batch k depends on the dataset, epoch, k and global batch size alone: never on workers,
/// devices or processes, and all processes get the same number of batches.
///
/// `for (auto epoch : loader.epochs()) for (const auto& batch : epoch) ...`, with
/// `Batch<Example, Array>`s that lie over the mesh in scope. Movable; what it gave out refers to
/// it.
///
/// An exception thrown while a batch is loaded is thrown, as it was, where that batch would have
/// been delivered; `++iterator` goes on behind it. `options.on_error` may ask for other tries, or
/// for such a sample to be skipped.
template <Dataset D>
class ShardedDataloader<D> {
  static_assert(ExampleType<example_t<D>>,
                "loadax: an example must be a field, or a tuple, pair or aggregate of 1 to 16 "
                "fields; specialise loadax::field<F> for a type of your own");

  using Source = detail::StreamSource<D>;
  using Sink = ShardedSink<example_t<D>>;
  using Engine = LoaderEngine<Source, Sink>;
  struct State;

 public:
  using example_type = example_t<D>;
  using batch_type = Batch<example_type, Array>;

  class iterator;
  class Epoch;
  class Epochs;

  /// `spec` lays out each field's array [rows, ...] over the mesh in scope. Starts loading.
  /// @throws StateError where no mesh is in scope; ArgumentError where the spec does not fit the
  /// mesh or does not divide the batch, or an option cannot be, such as a global_batch_size of 0
  /// (with 0 epochs there are no batches); NotSupportedError where the devices' memory is not the
  /// host's; EngineError where a thread cannot be started
  ShardedDataloader(D dataset, const PartitionSpec& spec,
                    const ShardedDataloaderOptions& options = {})
      : state_(std::make_unique<State>(std::move(dataset), NamedSharding(current_mesh(), spec),
                                       current_runtime(), options)) {}

  /// The epochs that are left, the current one included. Going on to the next one skips what is
  /// left of the current, without loading more of it.
  Epochs epochs() { return Epochs(state()); }

  /// How much of the current epoch was delivered.
  Progress progress() const { return state().progress; }
  /// How fast the stream is, and where the time goes. Call it in the thread that uses the loader.
  LoaderStatistics statistics() const { return state().engine->statistics(); }
  const NamedSharding& sharding() const { return state().sharding; }

 private:
  State& state() const {
    if (!state_)
      throw StateError("a moved-from ShardedDataloader was used", "use the one it was moved to");
    return *state_;
  }

  std::unique_ptr<State> state_;
};

/// Delivers the batches of one epoch (an input iterator). The loader must outlive it.
template <Dataset D>
class ShardedDataloader<D>::iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = batch_type;
  using difference_type = std::ptrdiff_t;

  /// The batch, valid until `++`; a copy of it, or of one of its arrays, is a handle that keeps it.
  /// @throws StateError at the end; what was thrown while it was loaded
  const batch_type& operator*() const {
    state_->check_in(epoch_);
    return state_->deliver();
  }
  const batch_type* operator->() const { return &**this; }
  /// Goes to the next batch, whether or not this one was looked at; does not wait for it.
  /// @throws StateError at the end
  iterator& operator++() {
    state_->check_in(epoch_);
    state_->engine->next();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const iterator& it, std::default_sentinel_t) {
    return !it.state_->is_in(it.epoch_);
  }

  /// Why the batch could not be loaded; null where `*iterator` did not throw.
  const LoadFailure* failure() const noexcept { return state_->engine->failure(); }

 private:
  friend class Epoch;
  iterator(State& state, std::uint64_t epoch) : state_(&state), epoch_(epoch) {}
  State* state_;
  std::uint64_t epoch_;
};

/// What is left of one epoch of a stream. The loader must outlive it.
template <Dataset D>
class ShardedDataloader<D>::Epoch {
 public:
  /// Its number, from 0.
  std::uint64_t index() const noexcept { return index_; }
  iterator begin() const { return iterator(*state_, index_); }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  friend class Epochs;
  Epoch(State& state, std::uint64_t index) : state_(&state), index_(index) {}
  State* state_;
  std::uint64_t index_;
};

/// The epochs of a stream (an input range). The loader must outlive it.
template <Dataset D>
class ShardedDataloader<D>::Epochs {
 public:
  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = Epoch;
    using difference_type = std::ptrdiff_t;

    Epoch operator*() const { return Epoch(*state_, index_); }
    iterator& operator++() {
      state_->skip_to(++index_);
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& it, std::default_sentinel_t) {
      return it.index_ >= it.state_->epochs;
    }

   private:
    friend class Epochs;
    iterator(State& state, std::uint64_t index) : state_(&state), index_(index) {}
    State* state_;
    std::uint64_t index_;
  };

  iterator begin() const { return iterator(*state_, state_->first_epoch()); }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  friend class ShardedDataloader;
  explicit Epochs(State& state) : state_(&state) {}
  State* state_;
};

template <Dataset D>
struct ShardedDataloader<D>::State {
  State(D d, NamedSharding where, std::shared_ptr<Runtime> runtime,
        const ShardedDataloaderOptions& options)
      : sharding(std::move(where)), epochs(options.epochs), batch_rows(options.global_batch_size) {
    check(options, *runtime);
    const EngineOptions engine_options = detail::engine_options("ShardedDataloader", options);
    const auto rows = std::make_shared<const LocalRows>(sharding, batch_rows);
    const auto dataset = std::make_shared<const D>(std::move(d));
    Source source(dataset, rows, options, engine_options.depth);
    progress.items_total = source.epoch_samples();
    progress.batches_total = source.epoch_batches();
    if (progress.batches_total == 0)
      log(LogLevel::warning,
          fmt::format("ShardedDataloader: no batches: {} samples do not fill a batch of {}",
                      dataset->size(), options.global_batch_size));
    Sink sink(sharding, std::move(runtime), rows, options.global_batch_size,
              options.tail == Tail::pad || options.on_error.skips());
    engine = std::make_unique<Engine>(std::move(source), std::move(sink), engine_options);
  }

  void check(const ShardedDataloaderOptions& options, Runtime& runtime) const {
    if (options.global_batch_size == 0)
      throw ArgumentError("ShardedDataloader: global_batch_size is 0",
                          "a batch has at least 1 row");
    if (batch_rows % sharding.factor(0) != 0)
      throw ArgumentError(
          fmt::format("ShardedDataloader: {} rows do not divide by {}, over which {} splits them",
                      batch_rows, sharding.factor(0), to_string(sharding.spec())),
          "give a global_batch_size that is a multiple; Tail::pad fills an epoch's last batch "
          "only");
    if (sharding.mesh().local_positions().empty())
      throw StateError(fmt::format("ShardedDataloader: process {} has no device in the mesh",
                                   sharding.mesh().process_index()),
                       "only processes with devices in the mesh load batches for it");
    for (const auto position : sharding.mesh().local_positions())
      if (!runtime.memory(sharding.mesh().devices()[position])->is_host())
        throw NotSupportedError("ShardedDataloader: a device whose memory is not the host's",
                                "load with Dataloader and place with host_to_global_device_array");
  }

  std::uint64_t epoch_of(std::uint64_t batch) const noexcept {
    return batch / progress.batches_total;
  }
  std::uint64_t first_epoch() const noexcept {
    return progress.batches_total == 0 ? 0 : epoch_of(engine->batch());
  }
  bool is_in(std::uint64_t epoch) const noexcept {
    return !engine->done() && epoch_of(engine->batch()) == epoch;
  }
  /// An iterator at the end of its epoch has no part in the next one.
  void check_in(std::uint64_t epoch) const {
    if (!is_in(epoch))
      throw StateError(fmt::format("ShardedDataloader: epoch {} has no batch left", epoch),
                       "compare the iterator with end() before * and ++");
  }
  void skip_to(std::uint64_t epoch) {
    const auto first = checked_multiply(epoch, progress.batches_total);
    engine->skip_to(first.value_or(unbounded_batches));
  }

  const batch_type& deliver() {
    const batch_type& batch = engine->current().batch;
    const std::uint64_t k = engine->batch();
    if (std::exchange(delivered, k + 1) == k + 1) return batch;
    if (progress.epoch != epoch_of(k)) {
      progress.epoch = epoch_of(k);
      progress.batches_processed = progress.items_processed = 0;
    }
    const std::uint64_t first = k % progress.batches_total * batch_rows;
    ++progress.batches_processed;
    progress.items_processed += std::min(batch_rows, progress.items_total - first);
    return batch;
  }

  NamedSharding sharding;
  std::uint64_t epochs, batch_rows;
  std::uint64_t delivered = 0;
  Progress progress;
  std::unique_ptr<Engine> engine;
};

}  // namespace v0
}  // namespace loadax
