// What the collectives that move parts of arrays make of shapes.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/core/shape.hpp>

namespace loadax {
inline namespace v0 {

/// `axis`: the dimension along which the members' arrays stand in the result. Tiled: one after the
/// other along that dimension; else along a new dimension there.
struct AllGatherOptions {
  std::size_t axis = 0;
  bool tiled = false;
};

/// `scatter_dimension`: the dimension that is divided among the members. Tiled: into equal parts;
/// else it has one element for each member, and is dropped.
struct PsumScatterOptions {
  std::size_t scatter_dimension = 0;
  bool tiled = false;
};

/// `split_axis`: the dimension of the argument that is divided among the members, as in
/// psum_scatter. `concat_axis`: the dimension of the result along which what came from the members
/// stands, as in all_gather.
struct AllToAllOptions {
  std::size_t split_axis = 0;
  std::size_t concat_axis = 0;
  bool tiled = false;
};

namespace detail {

/// Elements of the dimensions `begin` to `end` - 1.
inline std::size_t elements_between(const Shape& shape, std::size_t begin, std::size_t end) {
  std::size_t count = 1;
  for (std::size_t d = begin; d < end; ++d) count *= shape[d];
  return count;
}

/// A shape with a dimension among `n` members put in, or made `n` times as long.
/// @throws ArgumentError where there is no such dimension
inline Shape gathered_shape(const char* what, const Shape& shape, std::size_t n,
                            AllGatherOptions options) {
  if (options.axis >= shape.size() + (options.tiled ? 0 : 1))
    throw ArgumentError(
        fmt::format("{}: {}axis {} of an array {}", what, options.tiled ? "tiled along " : "",
                    options.axis, bracketed(shape)),
        "axis counts the dimensions of the result from 0; a tiled one must be in the argument");
  Shape result;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d == options.axis && !options.tiled) result.push_back(n);
    result.push_back(d == options.axis && options.tiled ? shape[d] * n : shape[d]);
  }
  if (options.axis == shape.size()) result.push_back(n);
  return result;
}

/// A shape with a dimension divided among `n` members, or dropped.
/// @throws ArgumentError where there is no such dimension, or it does not divide
inline Shape scattered_shape(const char* what, const Shape& shape, std::size_t n,
                             PsumScatterOptions options) {
  const std::size_t dimension = options.scatter_dimension;
  if (dimension >= shape.size())
    throw ArgumentError(
        fmt::format("{}: dimension {} of an array {}", what, dimension, bracketed(shape)),
        "the dimensions of the argument are counted from 0");
  if (options.tiled ? shape[dimension] % n != 0 : shape[dimension] != n)
    throw ArgumentError(fmt::format("{}: dimension {} of an array {} among {} devices", what,
                                    dimension, bracketed(shape), n),
                        options.tiled
                            ? "the dimension must be a multiple of the number of devices"
                            : "the dimension must have one element for each device; tiled = true "
                              "divides a larger one");
  Shape result;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != dimension)
      result.push_back(shape[d]);
    else if (options.tiled)
      result.push_back(shape[d] / n);
  }
  return result;
}

/// @throws ArgumentError where there is no such dimension, or it does not divide
inline Shape exchanged_shape(const Shape& shape, std::size_t n, AllToAllOptions options) {
  const Shape part =
      scattered_shape("all_to_all: split_axis", shape, n, {options.split_axis, options.tiled});
  return gathered_shape("all_to_all: concat_axis", part, n, {options.concat_axis, options.tiled});
}

/// How all_to_all's blocks lie: of each member's array the same block is read, `from_block`
/// elements for each index before it, and written in the member's place, `to_block` elements for
/// each member before it. A block is `outer` times `inner` runs of `run` elements.
struct BlockExchange {
  std::size_t run, from_block, to_block;
  std::size_t outer, outer_from, outer_to;
  std::size_t inner, inner_from, inner_to;
};

/// @pre exchanged_shape(shape, n, options) does not throw
inline BlockExchange block_exchange(const Shape& shape, std::size_t n, AllToAllOptions options) {
  const std::size_t split = options.split_axis, concat = options.concat_axis;
  const std::size_t rank = shape.size();
  // The array is [before, split, between, concat, after] or [before, concat, between, split,
  // after]; where the members get a dimension of their own, or it is the split one, concat is 1.
  const std::size_t part = shape[split] / n;
  const std::size_t own = options.tiled && split != concat ? shape[concat] : 1;
  const std::size_t next = options.tiled && split != concat ? concat + 1 : concat;
  if (split < concat) {
    const std::size_t last = options.tiled ? concat : concat + 1;
    const std::size_t between = elements_between(shape, split + 1, last);
    const std::size_t run = own * elements_between(shape, options.tiled ? next : last, rank);
    const std::size_t inner = part * between;
    return {.run = run,
            .from_block = inner * run,
            .to_block = run,
            .outer = elements_between(shape, 0, split),
            .outer_from = n * inner * run,
            .outer_to = n * inner * run,
            .inner = inner,
            .inner_from = run,
            .inner_to = n * run};
  }
  const std::size_t run = part * elements_between(shape, split + 1, rank);
  const std::size_t inner = own * elements_between(shape, next, split);
  return {.run = run,
          .from_block = run,
          .to_block = inner * run,
          .outer = elements_between(shape, 0, concat),
          .outer_from = inner * n * run,
          .outer_to = n * inner * run,
          .inner = inner,
          .inner_from = n * run,
          .inner_to = run};
}

}  // namespace detail
}  // namespace v0
}  // namespace loadax
