// The collectives' work on raw elements, between the devices of one group.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <utility>

#include <loadax/comm/reduce.hpp>
#include <loadax/core/element_type.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/spmd/axis_groups.hpp>
#include <loadax/spmd/collective_shapes.hpp>
#include <loadax/spmd/step_state.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

/// A number for two numbers in order. (A step of FNV-1a.)
constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
  return (hash ^ value) * 0x100000001b3;
}

/// A number for a call with its parameters, to compare across devices.
template <class T>
std::uint64_t operation_code(Collective collective, const Shape& shape,
                             std::initializer_list<std::uint64_t> parameters) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&](std::uint64_t value) { hash = mixed(hash, value); };
  mix(static_cast<std::uint64_t>(collective));
  mix(static_cast<std::uint64_t>(element_type_index<T>() + 1) * 1024 + sizeof(T));
  for (const auto parameter : parameters) mix(parameter);
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

  /// out[i] = all members' x[i], combined in mesh order. `out` may be `x`.
  void reduce(ReduceOp op, const T* x, T* out, std::size_t count) {
    const bool large = count * sizeof(T) >= worth_splitting && members() > 2;
    if (!set_.spans_processes && (large || out == x)) {
      reduce_split(op, x, out, count);
      return;
    }
    Arena& arena = state_.arena(k_);
    const auto mark = arena.mark();
    T* into = out == x ? static_cast<T*>(arena.allocate(count * sizeof(T))) : out;
    meet(x, count, nullptr,
         [&](const AxisGroup& group, const auto&) { reduce_part(op, group, 0, into, count); });
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
      for (std::size_t row = 0; row < outer; ++row)
        reduce_part(ReduceOp::sum, group, (row * n + index()) * block, out + row * block, block);
    });
  }

  /// This device's block of each member's x, in the member's place of `out`.
  void all_to_all(const T* x, T* out, std::size_t count, const BlockExchange& blocks) {
    meet(x, count, nullptr, [&](const AxisGroup& group, const auto&) {
      for (std::size_t j = 0; j < members(); ++j) {
        const T* from = posted(group, j) + index() * blocks.from_block;
        T* to = out + j * blocks.to_block;
        for (std::size_t o = 0; o < blocks.outer; ++o)
          for (std::size_t i = 0; i < blocks.inner; ++i)
            copy(to + o * blocks.outer_to + i * blocks.inner_to,
                 from + o * blocks.outer_from + i * blocks.inner_from, blocks.run);
        count_read(j, blocks.outer * blocks.inner * blocks.run);
      }
    });
  }

  /// The x of one member, or zeros. `out` may be `x` where all members name the same one.
  void fetch(const T* x, T* out, std::size_t count, std::optional<std::size_t> source) {
    meet(x, count, nullptr, [&](const AxisGroup& group, const auto&) {
      if (source) {
        copy(out, posted(group, *source), count);
        count_read(*source, count);
      } else {
        std::fill_n(out, count, T{});
      }
    });
  }

 private:
  /// From here on, each member sums its own part and reads the others' sums.
  static constexpr std::size_t worth_splitting = std::size_t{1} << 15;

  static const T* posted(const AxisGroup& group, std::size_t j) noexcept {
    return static_cast<const T*>(group.posts[j].data);
  }

  /// An array without elements has nothing to read, and perhaps no memory.
  template <class Read>
  void meet(const T* x, std::size_t count, const T* result, Read&& read) {
    const auto read_any = [&](const AxisGroup& group, const auto& wait) {
      if (count > 0) read(group, wait);
    };
    state_.meet(k_, set_, {x, count * sizeof(T), result, operation_}, what_, read_any);
  }

  static void copy(T* to, const T* from, std::size_t count) {
    if (count > 0 && to != from) std::memcpy(to, from, count * sizeof(T));
  }
  void count_read(std::size_t j, std::size_t count) {
    if (j != index()) count_.bytes += count * sizeof(T);
  }

  /// out[i] = all members' x[from + i], in order.
  void reduce_part(ReduceOp op, const AxisGroup& group, std::size_t from, T* out,
                   std::size_t count) {
    const auto contribution = [&](std::size_t j) { return posted(group, j) + from; };
    reduce_in_order<T>(op, members(), contribution, out, count);
    count_.bytes += (members() - 1) * count * sizeof(T);
  }

  void reduce_split(ReduceOp op, const T* x, T* out, std::size_t count) {
    const std::size_t n = members();
    const auto begin = [&](std::size_t j) { return count / n * j + std::min(j, count % n); };
    meet(x, count, out, [&](const AxisGroup& group, const auto& wait) {
      const std::size_t mine = begin(index());
      reduce_part(op, group, mine, out + mine, begin(index() + 1) - mine);
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
