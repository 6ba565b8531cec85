// The collectives' work on raw elements, between the devices of one group.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <loadax/comm/reduce.hpp>
#include <loadax/core/element_type.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/spmd/axis_groups.hpp>
#include <loadax/spmd/step_state.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

/// A number for a call with its parameters, to compare across devices. (FNV-1a.)
inline std::uint64_t operation_code(Collective collective, std::size_t element, const Shape& shape,
                                    std::size_t axis = 0, bool tiled = false) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
  mix(static_cast<std::uint64_t>(collective));
  mix(element);
  mix(axis);
  mix(tiled ? 1 : 0);
  for (const auto size : shape) mix(size);
  return hash;
}

/// One call of a collective by local device k.
template <class T>
class CollectiveCall {
 public:
  CollectiveCall(StepState& state, std::size_t k, AxisGroupSet& set, Collective collective,
                 std::uint64_t operation)
      : state_(state),
        k_(k),
        set_(set),
        what_(name(collective).data()),
        operation_(operation),
        count_(state.traffic(k)[collective]) {
    ++count_.calls;
  }

  std::size_t members() const noexcept { return set_.places[k_].group->members.size(); }
  /// This device's index in its group.
  std::size_t index() const noexcept { return set_.places[k_].index; }

  /// out[i] = the sum of all members' x[i], in mesh order. `out` may be `x`.
  void psum(const T* x, T* out, std::size_t count) {
    const bool large = count * sizeof(T) >= worth_splitting && members() > 2;
    if (!set_.spans_processes && (large || out == x)) {
      sum_split(x, out, count);
      return;
    }
    Arena& arena = state_.arena(k_);
    const auto mark = arena.mark();
    T* into = out == x ? static_cast<T*>(arena.allocate(count * sizeof(T))) : out;
    meet(x, count, nullptr, [&](const AxisGroup& group, const auto&) {
      sum(group, into, 0, count, 0, count, count, 1);
    });
    if (into != out) copy(out, into, count);
    arena.release(mark);
  }

  /// `outer` times: the chunks of all members, one after the other, of `chunk` elements each.
  void all_gather(const T* x, T* out, std::size_t outer, std::size_t chunk) {
    const std::size_t n = members();
    meet(x, outer * chunk, nullptr, [&](const AxisGroup& group, const auto&) {
      for (std::size_t j = 0; j < n; ++j) {
        const T* from = posted(group, j);
        for (std::size_t o = 0; o < outer; ++o)
          copy(out + (o * n + j) * chunk, from + o * chunk, chunk);
        count_read(j, outer * chunk);
      }
    });
  }

  /// Of `outer` rows of members() blocks of `block` elements, the sum of this device's blocks.
  /// `out` may be where this device's block is in `x`, where there is one row.
  void psum_scatter(const T* x, T* out, std::size_t outer, std::size_t block) {
    const std::size_t n = members();
    meet(x, outer * n * block, nullptr, [&](const AxisGroup& group, const auto&) {
      sum(group, out, index() * block, n * block, 0, block, block, outer);
    });
  }

 private:
  /// From here on, each member sums its own part and reads the others' sums.
  static constexpr std::size_t worth_splitting = std::size_t{1} << 15;
  /// Elements summed over all members before the next ones: they stay in the first-level cache.
  static constexpr std::size_t tile = 8192 / sizeof(T);

  static const T* posted(const AxisGroup& group, std::size_t j) noexcept {
    return static_cast<const T*>(group.posts[j].data);
  }

  template <class Read>
  void meet(const T* x, std::size_t count, const T* result, Read&& read) {
    state_.meet(k_, set_, {x, count * sizeof(T), result, operation_}, what_,
                std::forward<Read>(read));
  }

  static void copy(T* to, const T* from, std::size_t count) {
    if (count > 0 && to != from) std::memcpy(to, from, count * sizeof(T));
  }
  void count_read(std::size_t j, std::size_t count) {
    if (j != index()) count_.bytes += count * sizeof(T);
  }

  /// For each of `rows`, sums `count` elements of all members, in order: those that begin at `from`
  /// (rows `from_stride` apart) go to `to` (rows `to_stride` apart), which may be the same place.
  void sum(const AxisGroup& group, T* out, std::size_t from, std::size_t from_stride,
           std::size_t to, std::size_t to_stride, std::size_t count, std::size_t rows) {
    const std::size_t n = members();
    T total[tile];
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t at = 0; at < count; at += tile) {
        const std::size_t length = std::min(tile, count - at);
        const std::size_t source = row * from_stride + from + at;
        copy(total, posted(group, 0) + source, length);
        for (std::size_t j = 1; j < n; ++j)
          combine(ReduceOp::sum, total, posted(group, j) + source, length);
        copy(out + row * to_stride + to + at, total, length);
      }
    }
    count_.bytes += (n - 1) * count * rows * sizeof(T);
  }

  void sum_split(const T* x, T* out, std::size_t count) {
    const std::size_t n = members();
    const auto begin = [&](std::size_t j) { return count / n * j + std::min(j, count % n); };
    meet(x, count, out, [&](const AxisGroup& group, const auto& wait) {
      sum(group, out, begin(index()), 0, begin(index()), 0, begin(index() + 1) - begin(index()), 1);
      wait();
      for (std::size_t j = 0; j < n; ++j) {
        if (j == index()) continue;
        const std::size_t length = begin(j + 1) - begin(j);
        copy(out + begin(j), static_cast<const T*>(group.posts[j].result) + begin(j), length);
        count_read(j, length);
      }
    });
  }

  StepState& state_;
  std::size_t k_;
  AxisGroupSet& set_;
  const char* what_;
  std::uint64_t operation_;
  Traffic::Count& count_;
};

}  // namespace detail
}  // namespace v0
}  // namespace loadax
