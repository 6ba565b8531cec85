// A mesh and a partition spec: which part of an array each device holds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/core/indexed_range.hpp>
#include <loadax/core/inline_vector.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/device/device.hpp>
#include <loadax/mesh/mesh.hpp>
#include <loadax/sharding/partition_spec.hpp>

namespace loadax {
inline namespace v0 {

/// A device and the part of an array that it holds.
struct DeviceIndex {
  const Device& device;
  Box index;
};

/// How arrays are laid out over a mesh. Along a dimension that is split over axes, a device's block
/// is the number whose digits are its coordinates on them, the first axis being the major digit.
/// Devices that differ only on axes that the spec does not use hold replicas.
///
/// An immutable value: copying one copies a pointer.
class NamedSharding {
 public:
  /// @throws ArgumentError for an axis that the mesh does not have
  /// @complexity O(rank of the mesh)
  NamedSharding(Mesh mesh, PartitionSpec spec)
      : state_(std::make_shared<const State>(std::move(mesh), std::move(spec))) {}

  /// To move is to copy, so that no sharding is ever empty.
  NamedSharding(const NamedSharding&) = default;
  NamedSharding& operator=(const NamedSharding&) = default;

  const Mesh& mesh() const noexcept { return state_->mesh; }
  const PartitionSpec& spec() const noexcept { return state_->spec; }

  /// O(1)
  /// @throws ArgumentError where the spec has more entries than the shape has dimensions
  void check_rank(const Shape& shape) const {
    const auto entries = spec().entries();
    if (entries.size() > shape.size())
      throw ArgumentError(
          fmt::format("{} has {} entries, the array {} has {} dimensions", to_string(spec()),
                      entries.size(), bracketed(shape), shape.size()),
          "give at most one entry for each dimension");
  }

  /// O(rank)
  /// @throws ArgumentError where the spec has more entries than the shape has dimensions, or the
  ///   axes of a dimension do not divide it
  void check(const Shape& shape) const {
    check_rank(shape);
    for (std::size_t d = 0; d < spec().entries().size(); ++d)
      if (shape[d] % state_->factors[d] != 0) throw_indivisible(shape, d);
  }

  /// Into how many blocks dimension `d` of an array is split. O(1)
  std::size_t factor(std::size_t d) const noexcept { return state_->factor(d); }

  /// The shape of the part that each device holds. O(rank)
  /// @throws ArgumentError as check()
  Shape shard_shape(const Shape& shape) const {
    check(shape);
    Shape result = shape;
    for (std::size_t d = 0; d < spec().entries().size(); ++d) result[d] /= state_->factors[d];
    return result;
  }

  /// The part of an array that a device holds. No allocation.
  /// @throws ArgumentError as check(), and where the device is not in the mesh
  /// @complexity O(rank), plus Mesh::position
  Box index(const Device& device, const Shape& shape) const {
    return index_at(mesh().position(device), shape);
  }

  /// The same for the device at a position of the mesh. O(rank), no allocation
  /// @throws IndexError where there is no such position
  Box index_at(std::size_t position, const Shape& shape) const {
    detail::check_mesh_position(position, mesh().size());
    return state_->box(position, shard_shape(shape));
  }

  /// Which of the equal parts a device holds: how many devices before it in the mesh hold the same
  /// part (of an array without elements: would hold). O(rank)
  /// @throws ArgumentError where the device is not in the mesh
  std::size_t replica_id(const Device& device) const {
    return replica_id_at(mesh().position(device));
  }
  /// @throws IndexError where there is no such position
  std::size_t replica_id_at(std::size_t position) const {
    detail::check_mesh_position(position, mesh().size());
    std::size_t id = 0;
    for (const Digit& digit : state_->replicated) id += digit.value(position);
    return id;
  }

  /// How many different parts there are; each is held by mesh().size() / num_shards() devices.
  std::size_t num_shards() const noexcept { return state_->num_shards; }

  /// Which of the num_shards() different parts the device at a position holds, counted row-major
  /// over the array's blocks. O(rank)
  /// @throws IndexError where there is no such position
  std::size_t shard_number_at(std::size_t position) const {
    detail::check_mesh_position(position, mesh().size());
    const Shape blocks = state_->blocks(position, state_->factors.size());
    std::size_t number = 0;
    for (std::size_t d = 0; d < blocks.size(); ++d) number = number * factor(d) + blocks[d];
    return number;
  }

  /// Every device with its part, in mesh order, computed as it is looked at.
  /// @throws ArgumentError as check()
  auto devices_indices_map(const Shape& shape) const {
    return IndexedRange(mesh().size(), IndexOf{state_, shard_shape(shape)});
  }

  /// Whether every device holds the whole array.
  bool is_fully_replicated() const noexcept { return num_shards() == 1; }

  /// Whether this process drives every device of the mesh.
  bool is_fully_addressable() const noexcept {
    return mesh().local_positions().size() == mesh().size();
  }

  /// Whether arrays of this rank are laid out in the same way: the same devices in the same order
  /// hold the same parts, whatever the axes are called and however a mesh is factored.
  /// @throws ArgumentError where a spec has more than `rank` entries
  /// @complexity O(rank), plus comparing the devices of different meshes
  bool is_equivalent_to(const NamedSharding& other, std::size_t rank) const {
    for (const NamedSharding* one : {this, &other})
      if (one->spec().entries().size() > rank)
        throw ArgumentError(fmt::format("{} has {} entries for arrays of {} dimensions",
                                        to_string(one->spec()), one->spec().entries().size(), rank),
                            "give at most one entry for each dimension");
    if (!std::ranges::equal(state_->split, other.state_->split)) return false;
    return mesh() == other.mesh() || std::ranges::equal(mesh().devices(), other.mesh().devices());
  }

  /// Same mesh and same spec. O(rank), plus Mesh::operator==
  bool operator==(const NamedSharding& other) const {
    return state_ == other.state_ || (spec() == other.spec() && mesh() == other.mesh());
  }

 private:
  // A digit of a position (there are fewer than 2^32), which counts blocks of `weight` along
  // `dimension`.
  struct Digit {
    std::uint32_t dimension, stride, size, weight;
    std::uint32_t value(std::size_t position) const noexcept {
      return static_cast<std::uint32_t>(position) / stride % size * weight;
    }
    bool operator==(const Digit&) const = default;
  };
  using Digits = InlineVector<Digit, max_rank>;

  struct State {
    State(Mesh m, PartitionSpec s) : mesh(std::move(m)), spec(std::move(s)) {
      auto used = InlineVector<bool, max_rank>::filled(mesh.rank(), false);
      for (std::size_t d = 0; d < spec.entries().size(); ++d) {
        Digits digits;
        std::size_t factor = 1;
        const auto names = spec.entries()[d].names();
        for (std::size_t i = names.size(); i-- > 0;) {
          const std::size_t axis = mesh.axis(names[i]);
          used[axis] = true;
          prepend(digits, d, axis, factor);
        }
        for (const Digit& digit : digits) split.push_back(digit);
        factors.push_back(factor);
        num_shards *= factor;
      }
      std::size_t replicas = 1;
      for (std::size_t axis = mesh.rank(); axis-- > 0;)
        if (!used[axis]) prepend(replicated, 0, axis, replicas);
    }

    std::size_t factor(std::size_t d) const noexcept { return d < factors.size() ? factors[d] : 1; }

    /// The number of a position's block along each of `rank` dimensions.
    Shape blocks(std::size_t position, std::size_t rank) const {
      auto result = Shape::filled(rank, 0);
      for (const Digit& digit : split) result[digit.dimension] += digit.value(position);
      return result;
    }

    /// A position's part of an array whose parts have the shape `shard`.
    Box box(std::size_t position, const Shape& shard) const {
      auto result = Box::filled(shard.size(), {});
      for (const Digit& digit : split) result[digit.dimension].start += digit.value(position);
      for (std::size_t d = 0; d < shard.size(); ++d) {
        result[d].start *= shard[d];
        result[d].stop = result[d].start + shard[d];
      }
      return result;
    }

    /// Adds an axis as the next more major digit; axes that follow each other in the mesh become
    /// one digit, axes of size 1 none. So equal layouts have equal digits.
    void prepend(Digits& digits, std::size_t dimension, std::size_t axis, std::size_t& weight) {
      const auto size = static_cast<std::uint32_t>(mesh.shape()[axis]);
      const auto stride = static_cast<std::uint32_t>(mesh.stride(axis));
      if (size == 1) return;
      if (!digits.empty() && digits.back().stride * digits.back().size == stride)
        digits.back().size *= size;
      else
        digits.push_back({static_cast<std::uint32_t>(dimension), stride, size,
                          static_cast<std::uint32_t>(weight)});
      weight *= size;
    }

    Mesh mesh;
    PartitionSpec spec;
    Shape factors;
    Digits split, replicated;
    std::size_t num_shards = 1;
  };

  struct IndexOf {
    std::shared_ptr<const State> state;
    Shape shard;
    DeviceIndex operator()(std::size_t position) const {
      return {state->mesh.devices()[position], state->box(position, shard)};
    }
  };

  [[noreturn]] void throw_indivisible(const Shape& shape, std::size_t d) const {
    std::string over;
    for (const std::string& name : spec().entries()[d].names())
      over += fmt::format("{}{}={}", over.empty() ? "" : ", ", name, mesh().axis_size(name));
    throw ArgumentError(
        fmt::format("dimension {} of size {} of the array {} does not divide by {}, the size of "
                    "its mesh axes ({})",
                    d, shape[d], bracketed(shape), state_->factors[d], over),
        fmt::format("pad the dimension to a multiple of {}, or split it over other axes",
                    state_->factors[d]));
  }

  std::shared_ptr<const State> state_;
};

/// "P(data, none) on (data=4, model=2)"
inline std::string to_string(const NamedSharding& sharding) {
  return to_string(sharding.spec()) + " on " + to_string(sharding.mesh());
}

/// The spec that splits the first dimension over all axes of a mesh, so that each device holds
/// rows of its own.
inline PartitionSpec every_device(const Mesh& mesh) {
  return PartitionSpec(Axes{{mesh.axis_names().begin(), mesh.axis_names().end()}});
}

}  // namespace v0
}  // namespace loadax
