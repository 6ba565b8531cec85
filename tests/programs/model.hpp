// Arrays over a mesh as lists of host arrays, and what collectives make of them: written from the
// definitions, with loops over every element, and with nothing of the library but HostArray.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <loadax/array/host_array.hpp>
#include <loadax/core/float16.hpp>

namespace loadax_test {

using loadax::HostArray;
using loadax::Shape;

/// The sizes of a mesh's axes; devices are numbered row-major.
struct ModelMesh {
  std::vector<std::size_t> sizes;

  std::size_t size() const {
    std::size_t n = 1;
    for (const auto size : sizes) n *= size;
    return n;
  }
  std::size_t coordinate(std::size_t device, std::size_t axis) const {
    for (std::size_t a = sizes.size() - 1; a > axis; --a) device /= sizes[a];
    return device % sizes[axis];
  }
  /// The number whose digits are the coordinates along the axes, the first one major.
  std::size_t index(std::size_t device, const std::vector<std::size_t>& axes) const {
    std::size_t number = 0;
    for (const auto axis : axes) number = number * sizes[axis] + coordinate(device, axis);
    return number;
  }
  std::size_t count(const std::vector<std::size_t>& axes) const {
    std::size_t n = 1;
    for (const auto axis : axes) n *= sizes[axis];
    return n;
  }
  /// The devices that differ from one only along the axes, by their index along those.
  std::vector<std::size_t> group(std::size_t device, const std::vector<std::size_t>& axes) const {
    std::vector<std::size_t> members(count(axes));
    for (std::size_t other = 0; other < size(); ++other) {
      bool same = true;
      for (std::size_t axis = 0; axis < sizes.size(); ++axis)
        if (std::ranges::find(axes, axis) == axes.end())
          same = same && coordinate(other, axis) == coordinate(device, axis);
      if (same) members[index(other, axes)] = other;
    }
    return members;
  }
};

/// For each dimension, the axes that it is split over.
using Layout = std::vector<std::vector<std::size_t>>;

using Index = std::vector<std::size_t>;

inline std::size_t flat(const Shape& shape, const Index& index) {
  std::size_t at = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
  return at;
}

/// An array whose elements are `element(index)`.
template <class T, class Element>
HostArray<T> build(const Shape& shape, Element&& element) {
  HostArray<T> array(shape);
  Index index(shape.size(), 0);
  for (std::size_t i = 0; i < array.size(); ++i) {
    array.data()[i] = element(std::as_const(index));
    for (std::size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
  }
  return array;
}

/// Each device's part of an array.
template <class T>
std::vector<HostArray<T>> split(const ModelMesh& mesh, const HostArray<T>& whole,
                                const Layout& layout) {
  std::vector<HostArray<T>> parts;
  for (std::size_t device = 0; device < mesh.size(); ++device) {
    Shape shape = whole.shape();
    Index first(shape.size(), 0);
    for (std::size_t d = 0; d < layout.size(); ++d) {
      shape[d] /= mesh.count(layout[d]);
      first[d] = mesh.index(device, layout[d]) * shape[d];
    }
    parts.push_back(build<T>(shape, [&](Index index) {
      for (std::size_t d = 0; d < index.size(); ++d) index[d] += first[d];
      return whole.data()[flat(whole.shape(), index)];
    }));
  }
  return parts;
}

/// All devices' arrays along a new first dimension, in order of their index along the axes.
template <class T>
HostArray<T> stack(const ModelMesh& mesh, const std::vector<HostArray<T>>& parts,
                   const std::vector<std::size_t>& axes) {
  std::vector<std::size_t> device_at(mesh.size());
  for (std::size_t device = 0; device < mesh.size(); ++device)
    device_at[mesh.index(device, axes)] = device;
  Shape shape{mesh.size()};
  for (const auto size : parts[0].shape()) shape.push_back(size);
  return build<T>(shape, [&](const Index& index) {
    return parts[device_at[index[0]]]
        .data()[flat(parts[0].shape(), {index.begin() + 1, index.end()})];
  });
}

enum class Kind {
  next,
  psum,
  pmax,
  pmin,
  all_gather,
  psum_scatter,
  all_to_all,
  ppermute,
  pbroadcast
};
inline constexpr std::size_t kinds = 9;

struct Operation {
  Kind kind{};
  std::vector<std::size_t> axes{};
  /// The dimension that is split, and the one along which members' arrays stand.
  std::size_t from = 0, to = 0;
  bool tiled = false;
  std::size_t source = 0;
  std::vector<std::pair<std::size_t, std::size_t>> pairs{};
};

template <class T>
inline constexpr bool is_half =
    std::is_same_v<T, loadax::float16_t> || std::is_same_v<T, loadax::bfloat16_t>;
template <class T>
inline constexpr bool has_sum = !std::is_same_v<T, bool>;
template <class T>
inline constexpr bool has_order = std::is_convertible_v<T, double>;

template <class T>
T next(T x) {
  if constexpr (std::is_same_v<T, bool>)
    return !x;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) + 1u);
  else
    return static_cast<T>(x + 1.0f);
}

template <class T>
T sum(const std::vector<T>& values) {
  if constexpr (std::is_integral_v<T>) {
    std::uint64_t total = 0;
    for (const auto value : values) total += static_cast<std::uint64_t>(value);
    return static_cast<T>(total);
  } else if constexpr (is_half<T>) {
    float total = values[0];
    for (std::size_t j = 1; j < values.size(); ++j) total += values[j];
    return static_cast<T>(total);
  } else {
    T total = values[0];
    for (std::size_t j = 1; j < values.size(); ++j) total += values[j];
    return total;
  }
}

/// What an operation makes of all devices' arrays.
template <class T>
std::vector<HostArray<T>> apply(const ModelMesh& mesh, const Operation& op,
                                const std::vector<HostArray<T>>& parts) {
  const std::size_t n = mesh.count(op.axes);
  const Shape shape = parts[0].shape();
  std::vector<HostArray<T>> results;
  for (std::size_t device = 0; device < mesh.size(); ++device) {
    const auto members = mesh.group(device, op.axes);
    const std::size_t me = mesh.index(device, op.axes);
    const auto of = [&](std::size_t j, const Index& index) {
      return parts[members[j]].data()[flat(shape, index)];
    };
    const auto of_all = [&](const Index& index) {
      std::vector<T> values;
      for (std::size_t j = 0; j < n; ++j) values.push_back(of(j, index));
      return values;
    };
    // The argument's index of an element in block `block` of the dimension that is split.
    const auto in_block = [&](Index index, std::size_t block) {
      if (op.tiled)
        index[op.from] += block * (shape[op.from] / n);
      else
        index.insert(index.begin() + static_cast<std::ptrdiff_t>(op.from), block);
      return index;
    };
    // The member that an element of the result came from; the rest of its index.
    const auto take_member = [&](Index& index, std::size_t length) {
      if (op.tiled) return std::exchange(index[op.to], index[op.to] % length) / length;
      const std::size_t j = index[op.to];
      index.erase(index.begin() + static_cast<std::ptrdiff_t>(op.to));
      return j;
    };
    Shape part = shape;
    if (op.kind == Kind::psum_scatter || op.kind == Kind::all_to_all) {
      part = {};
      for (std::size_t d = 0; d < shape.size(); ++d)
        if (d != op.from || op.tiled) part.push_back(d == op.from ? shape[d] / n : shape[d]);
    }
    Shape whole;
    for (std::size_t d = 0; d <= part.size(); ++d) {
      if (d == op.to && !op.tiled) whole.push_back(n);
      if (d < part.size()) whole.push_back(d == op.to && op.tiled ? part[d] * n : part[d]);
    }
    const std::size_t length = op.tiled && op.to < part.size() ? part[op.to] : 1;

    const auto element = [&](Index index) -> T {
      switch (op.kind) {
        case Kind::next:
          return next(of(me, index));
        case Kind::psum:
          if constexpr (has_sum<T>) return sum(of_all(index));
          break;
        case Kind::pmax:
          if constexpr (has_order<T>) return std::ranges::max(of_all(index));
          break;
        case Kind::pmin:
          if constexpr (has_order<T>) return std::ranges::min(of_all(index));
          break;
        case Kind::psum_scatter:
          if constexpr (has_sum<T>) return sum(of_all(in_block(index, me)));
          break;
        case Kind::all_gather: {
          const std::size_t j = take_member(index, length);
          return of(j, index);
        }
        case Kind::all_to_all: {
          const std::size_t j = take_member(index, length);
          return of(j, in_block(index, me));
        }
        case Kind::ppermute:
          for (const auto& [source, destination] : op.pairs)
            if (destination == me) return of(source, index);
          return T{};
        case Kind::pbroadcast:
          return of(op.source, index);
      }
      throw std::logic_error("the model has no such operation of such elements");
    };
    const bool gathers = op.kind == Kind::all_gather || op.kind == Kind::all_to_all;
    results.push_back(build<T>(gathers ? whole : part, element));
  }
  return results;
}

}  // namespace loadax_test
