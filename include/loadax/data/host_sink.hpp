// Collecting samples into batches in the memory of this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <tuple>
#include <type_traits>

#include <loadax/array/host_array.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/data/batch.hpp>
#include <loadax/data/collate.hpp>
#include <loadax/data/example.hpp>
#include <loadax/data/field.hpp>
#include <loadax/data/row_view.hpp>

namespace loadax {
inline namespace v0 {

/// Collects samples into batches of HostArrays, whose memory is used again for later batches.
/// (The loader engine's sink for one process's memory: see data/engine.hpp.)
template <class Example>
class HostSink {
 public:
  struct Slot {
    Batch<Example> batch;
    RowShapes<Example> shapes;
  };
  static constexpr bool needs_example = !RowShapes<Example>::fixed;

  /// With `masked`, each batch has a mask.
  explicit HostSink(bool masked = false) : masked_(masked) {}

  void measure(Slot& slot, std::uint64_t sample, const Example& example) const {
    slot.shapes = RowShapes<Example>(example, sample);
  }

  std::size_t bytes(const Slot& slot, const auto& work) const {
    std::size_t sum = masked_ ? work.rows() : 0;
    detail::for_each_field<Example>([&](auto i) {
      using T = typename field<detail::field_t<Example, i>>::element;
      sum += work.rows() * slot.shapes.size(i) * sizeof(T);
    });
    return sum;
  }

  void prepare(Slot& slot, const auto& work) const {
    const auto shape = [&](auto i) { return slot.shapes.batch_shape(i, work.rows()); };
    for_each_leaf(slot, [&](auto& leaf, auto i) {  // before others take more
      if (leaf.shape() != shape(i)) leaf = {};
    });
    for_each_leaf(slot, [&](auto& leaf, auto i) {
      if (leaf.shape() != shape(i))
        leaf = std::remove_cvref_t<decltype(leaf)>::uninitialized(shape(i));
    });
    prepare_mask(slot.batch, work.rows());
  }

  void release(Slot& slot) const { slot.batch = {}; }

  void write(Slot& slot, const auto& work, std::size_t row, const Example& example) const {
    slot.shapes.check(example, work.position(row));
    write_row(example, [&](auto i) { return row_of(slot, slot.batch.template get<i>(), row, i); });
    mark_written(slot, row);
  }

  /// Where a sample that writes itself is to go; mark_written() follows. (Optional in a sink.)
  std::optional<RowView<Example>> row(Slot& slot, std::size_t row) const {
    typename RowView<Example>::spans_type spans;
    for_each_leaf(slot, [&](auto& leaf, auto i) {
      std::get<i>(spans) = {row_of(slot, leaf, row, i), slot.shapes.size(i)};
    });
    return RowView<Example>(spans);
  }
  void mark_written(Slot& slot, std::size_t row) const {
    if (masked_) slot.batch.mask().data()[row] = true;
  }

  /// A row without a sample is zero, and false in the mask.
  void pad(Slot& slot, const auto&, std::size_t row) const {
    for_each_leaf(slot, [&](auto& leaf, auto i) {
      if (slot.shapes.size(i) > 0)
        std::memset(static_cast<void*>(row_of(slot, leaf, row, i)), 0,
                    slot.shapes.size(i) * sizeof(*leaf.data()));
    });
    if (masked_) slot.batch.mask().data()[row] = false;
  }

 private:
  static void for_each_leaf(Slot& slot, auto&& f) {
    detail::for_each_field<Example>([&](auto i) { f(slot.batch.template get<i>(), i); });
  }
  static auto* row_of(const Slot& slot, auto& leaf, std::size_t row, std::size_t i) {
    return leaf.data() + row * slot.shapes.size(i);
  }

  void prepare_mask(Batch<Example>& batch, std::size_t rows) const {
    if (!masked_) return batch.drop_mask();  // one that the consumer has set on the batch before
    if (!batch.has_mask() || batch.mask().shape() != Shape{rows})
      batch.set_mask(HostArray<bool>::uninitialized(Shape{rows}));
  }

  bool masked_;
};

}  // namespace v0
}  // namespace loadax
