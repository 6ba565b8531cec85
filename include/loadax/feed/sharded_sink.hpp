// Writing samples into the rows of a batch that lies over the devices of a mesh.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/array/host_array.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/data/batch.hpp>
#include <loadax/data/collate.hpp>
#include <loadax/data/example.hpp>
#include <loadax/data/row_view.hpp>
#include <loadax/placement/array.hpp>
#include <loadax/placement/runtime.hpp>
#include <loadax/placement/strided_copy.hpp>
#include <loadax/sharding/named_sharding.hpp>

namespace loadax {
inline namespace v0 {

/// Which rows of a global batch this process's devices hold.
class LocalRows {
 public:
  /// @throws ArgumentError where the sharding does not divide the rows
  LocalRows(const NamedSharding& batch, std::size_t rows)
      : sharding_(batch.mesh(), of_rows(batch.spec())),
        block_rows_(sharding_.shard_shape(Shape{rows})[0]),
        holders_(sharding_.factor(0)) {
    const auto positions = sharding_.mesh().local_positions();
    for (std::size_t k = 0; k < positions.size(); ++k)
      holders_[sharding_.index_at(positions[k], Shape{rows})[0].start / block_rows_].push_back(k);
    for (std::size_t block = 0; block < holders_.size(); ++block)
      if (!holders_[block].empty()) blocks_.push_back(block);
  }

  /// The layout of a vector of rows, such as the mask.
  const NamedSharding& sharding() const noexcept { return sharding_; }
  /// How many they hold, each counted once.
  std::size_t size() const noexcept { return blocks_.size() * block_rows_; }
  /// The row of the global batch that is local row `row`.
  std::size_t global(std::size_t row) const noexcept {
    return blocks_[row / block_rows_] * block_rows_ + row % block_rows_;
  }
  /// The local devices, by number, that hold local row `row`.
  const std::vector<std::size_t>& holders(std::size_t row) const noexcept {
    return holders_[blocks_[row / block_rows_]];
  }

 private:
  static PartitionSpec of_rows(const PartitionSpec& batch) {
    return batch.entries().empty() ? PartitionSpec() : PartitionSpec(batch.entries()[0]);
  }

  NamedSharding sharding_;
  std::size_t block_rows_;
  std::vector<std::vector<std::size_t>> holders_;
  std::vector<std::size_t> blocks_;
};

/// The loader engine's sink (see data/engine.hpp) for arrays over a mesh: each sample's bytes go
/// straight to the devices that hold its row. A batch's memory is used again unless somebody still
/// has a handle to it.
template <class Example>
class ShardedSink {
 public:
  struct Slot {
    Batch<Example, Array> batch;
    RowShapes<Example> shapes;
  };
  static constexpr bool needs_example = !RowShapes<Example>::fixed;

  /// `sharding`'s spec fits every field's array [rows, ...].
  ShardedSink(NamedSharding sharding, std::shared_ptr<Runtime> runtime,
              std::shared_ptr<const LocalRows> rows, std::size_t global_rows, bool masked)
      : sharding_(std::move(sharding)),
        runtime_(std::move(runtime)),
        rows_(std::move(rows)),
        global_rows_(global_rows),
        masked_(masked) {}

  void measure(Slot& slot, std::uint64_t sample, const Example& example) const {
    slot.shapes = RowShapes<Example>(example, sample);
  }

  /// On all devices of this process.
  /// @throws ArgumentError where the sharding does not fit a field
  std::size_t bytes(const Slot& slot, const auto&) const {
    std::size_t sum = 0;
    detail::for_each_field<Example>([&](auto i) {
      using T = typename field<detail::field_t<Example, i>>::element;
      try {
        sum += local_bytes<T>(sharding_, slot.shapes.batch_shape(i, global_rows_));
      } catch (const ArgumentError& error) {
        throw with_context(fmt::format("field '{}': ", detail::field_text<Example, i>()), error);
      }
    });
    if (masked_) sum += local_bytes<bool>(rows_->sharding(), Shape{global_rows_});
    return sum;
  }

  /// @pre bytes() did not throw
  void prepare(Slot& slot, const auto&) const {
    for_each_array(slot, [](auto& array, const auto&, const Shape& shape) {
      if (!may_use_again(array, shape)) array = {};  // before others take more
    });
    for_each_array(slot, [this](auto& array, const auto& sharding, const Shape& shape) {
      if (!array.has_value()) array = this->make_array(array, sharding, shape);
    });
  }

  void release(Slot& slot) const { slot.batch = {}; }

  void write(Slot& slot, const auto& work, std::size_t row, const Example& example) const {
    slot.shapes.check(example, work.position(row));
    const auto fields = detail::tie_example(example);
    for (const std::size_t k : rows_->holders(row)) {
      detail::for_each_field<Example>([&](auto i) {
        write_field(slot.batch.template get<i>().addressable_shards()[k], rows_->global(row),
                    slot.shapes.batch_shape(i, global_rows_), std::get<i>(fields));
      });
      if (masked_) mark(slot, row, k, true);
    }
  }

  /// Where a sample that writes itself is to go, if its row lies on one device and in one piece;
  /// mark_written() follows.
  std::optional<RowView<Example>> row(Slot& slot, std::size_t row) const {
    const auto& holders = rows_->holders(row);
    if (holders.size() != 1) return std::nullopt;
    typename RowView<Example>::spans_type spans;
    bool is_whole = true;
    detail::for_each_field<Example>([&](auto i) {
      const auto& shard = slot.batch.template get<i>().addressable_shards()[holders[0]];
      const std::size_t size = row_size(shard.shape);
      is_whole = is_whole && size == slot.shapes.size(i);
      std::get<i>(spans) = {writable(shard) + (rows_->global(row) - shard.index[0].start) * size,
                            size};
    });
    if (!is_whole) return std::nullopt;
    return RowView<Example>(spans);
  }
  void mark_written(Slot& slot, std::size_t row) const {
    if (masked_) mark(slot, row, rows_->holders(row)[0], true);
  }

  /// A row without a sample is zero, and false in the mask.
  void pad(Slot& slot, const auto&, std::size_t row) const {
    for (const std::size_t k : rows_->holders(row)) {
      detail::for_each_field<Example>([&](auto i) {
        const auto& shard = slot.batch.template get<i>().addressable_shards()[k];
        using T = std::remove_cvref_t<decltype(*shard.data)>;
        const std::size_t size = row_size(shard.shape);
        const std::size_t at = rows_->global(row) - shard.index[0].start;
        if (size > 0)
          std::memset(static_cast<void*>(writable(shard) + at * size), 0, size * sizeof(T));
      });
      if (masked_) mark(slot, row, k, false);
    }
  }

 private:
  template <class T>
  static std::size_t local_bytes(const NamedSharding& sharding, const Shape& shape) {
    return byte_count(sharding.shard_shape(shape), sizeof(T)) *
           sharding.mesh().local_positions().size();
  }

  /// f(array, its sharding, its shape) for each field and the mask.
  void for_each_array(Slot& slot, auto&& f) const {
    detail::for_each_field<Example>([&](auto i) {
      f(slot.batch.template get<i>(), sharding_, slot.shapes.batch_shape(i, global_rows_));
    });
    if (!masked_) return;
    if (!slot.batch.has_mask()) slot.batch.set_mask({});
    f(slot.batch.mask(), rows_->sharding(), Shape{global_rows_});
  }

  template <class T>
  static bool may_use_again(const Array<T>& array, const Shape& shape) {
    return array.has_value() && array.shape() == shape && !array.is_shared();
  }

  template <class T>
  Array<T> make_array(const Array<T>&, const NamedSharding& sharding, const Shape& shape) const {
    return Array<T>(shape, sharding, detail::allocate_shards<T>(*runtime_, sharding, shape),
                    runtime_);
  }

  /// The sink wrote the shard before anybody else had it.
  template <class T>
  static T* writable(const Shard<T>& shard) {
    return const_cast<T*>(shard.data);
  }

  static std::size_t row_size(const Shape& shape) {
    std::size_t size = 1;
    for (std::size_t d = 1; d < shape.size(); ++d) size *= shape[d];
    return size;
  }

  template <class T, class F>
  static void write_field(const Shard<T>& shard, std::size_t row, const Shape& batch_shape,
                          const F& value) {
    const std::size_t held = row_size(shard.shape), whole = row_size(batch_shape);
    T* to = writable(shard) + (row - shard.index[0].start) * held;
    if (held == whole) {
      field<F>::copy(value, to);
      return;
    }
    // The row itself is split: the device gets its part of it.
    thread_local HostArray<T> scratch;
    if (scratch.size() < whole) scratch = HostArray<T>::uninitialized(Shape{whole});
    field<F>::copy(value, scratch.data());
    Box all, part = shard.index;
    for (const auto size : batch_shape) all.push_back({0, size});
    all[0] = part[0] = Slice{row, row + 1};
    run_on_host(copy_of_box(sizeof(T), part, scratch.data(), all, to, part));
  }

  void mark(Slot& slot, std::size_t row, std::size_t k, bool valid) const {
    const auto& shard = slot.batch.mask().addressable_shards()[k];
    writable(shard)[rows_->global(row) - shard.index[0].start] = valid;
  }

  NamedSharding sharding_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<const LocalRows> rows_;
  std::size_t global_rows_;
  bool masked_;
};

}  // namespace v0
}  // namespace loadax
