// An array laid out over the devices of a mesh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/array/structure.hpp>
#include <loadax/array/view.hpp>
#include <loadax/core/element_type.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/device/device.hpp>
#include <loadax/placement/device_memory.hpp>
#include <loadax/placement/runtime.hpp>
#include <loadax/sharding/named_sharding.hpp>

namespace loadax {
inline namespace v0 {

/// What one device holds of an array.
template <class T>
struct Shard {
  Device device;
  /// Which elements of the array these are.
  Box index;
  /// 0 for the first device, in mesh order, that holds these elements, 1 for the next, ...
  std::size_t replica_id = 0;
  /// In the device's memory.
  const T* data = nullptr;
  Shape shape;
  std::shared_ptr<DeviceBuffer> buffer;

  /// @throws NotSupportedError where the memory is not the host's
  ConstView<T> view() const {
    if (!buffer->memory().is_host())
      throw NotSupportedError("a view of a shard that is not in host memory",
                              "copy it with global_to_host_array first");
    return {data, shape};
  }
  /// The elements, row-major. @throws NotSupportedError where the memory is not the host's
  std::span<const T> values() const { return view().values(); }
};

/// An array over a mesh: this process's shards of it, and how all of it lies. A shared handle to
/// shards that do not change: copies share them. `inout` arguments of a step are the one exception.
template <class T>
class Array {
  static_assert(Element<T>, "loadax: an array element must be trivially copyable");

 public:
  using value_type = T;

  /// No array: only assignment and `has_value` are valid.
  Array() = default;

  /// @pre the shards are those of the local devices of the sharding's mesh, in mesh order
  /// @throws ArgumentError where they are of another number, or there is no runtime
  Array(const Shape& shape, NamedSharding sharding, std::vector<Shard<T>> shards,
        std::shared_ptr<Runtime> runtime)
      : state_(std::make_shared<State>(
            State{shape, std::move(sharding), std::move(shards), std::move(runtime)})) {
    if (addressable_shards().size() != mesh().local_positions().size() || !state_->runtime)
      throw ArgumentError(
          fmt::format("an Array of {} shards, {} a runtime, on a mesh of {} local devices",
                      addressable_shards().size(), state_->runtime ? "with" : "without",
                      mesh().local_positions().size()),
          "give one shard for each local device, and the runtime that they are in");
  }

  bool has_value() const noexcept { return state_ != nullptr; }
  /// The global shape.
  const Shape& shape() const { return state().shape; }
  const NamedSharding& sharding() const { return state().sharding; }
  const Mesh& mesh() const { return state().sharding.mesh(); }
  /// One shard for each device of this process, in mesh order.
  std::span<const Shard<T>> addressable_shards() const { return state().shards; }
  /// What holds its memory and runs its steps.
  const std::shared_ptr<Runtime>& runtime() const { return state().runtime; }

  /// The same buffers under an equivalent sharding. O(rank), plus comparing the devices of another
  /// mesh
  /// @throws ArgumentError where it is not equivalent
  Array with_sharding(NamedSharding sharding) const {
    if (!state().sharding.is_equivalent_to(sharding, shape().size()))
      throw ArgumentError(fmt::format("an array that lies as {} does not lie as {}",
                                      to_string(state().sharding), to_string(sharding)),
                          "move it: with_sharding_constraint");
    return {state().shape, std::move(sharding), state().shards, state().runtime};
  }

  /// Whether another handle shares its shards or one of their buffers. Where not, what other
  /// threads did through handles that are gone is visible. O(local devices)
  bool is_shared() const {
    if (state_.use_count() > 1) return true;
    for (const auto& shard : state().shards)
      if (shard.buffer.use_count() > 1) return true;
    // Making and dropping a handle orders this thread behind those that dropped theirs.
    {
      const auto handle = state_;
    }
    for (const auto& shard : state().shards) {
      const auto buffer = shard.buffer;
    }
    return false;
  }

 private:
  struct State {
    Shape shape;
    NamedSharding sharding;
    std::vector<Shard<T>> shards;
    std::shared_ptr<Runtime> runtime;
  };

  const State& state() const {
    if (!state_)
      throw StateError("an empty Array was used", "assign it from host_to_global_device_array");
    return *state_;
  }

  std::shared_ptr<const State> state_;
};

template <class T>
struct structure<Array<T>> : leaf_structure<T> {};

namespace detail {

/// Memory for one shard of an array at a local position of its mesh.
template <class T>
Shard<T> allocate_shard(Runtime& runtime, const NamedSharding& sharding, std::size_t position,
                        const Shape& shape) {
  Shard<T> shard;
  shard.device = sharding.mesh().devices()[position];
  shard.index = sharding.index_at(position, shape);
  shard.replica_id = sharding.replica_id_at(position);
  shard.shape = box_shape(shard.index);
  shard.buffer = std::make_shared<DeviceBuffer>(runtime.memory(shard.device),
                                                byte_count(shard.shape, sizeof(T)));
  shard.data = static_cast<const T*>(shard.buffer->data());
  return shard;
}

/// Memory for all local shards of an array; the elements have no particular value.
template <class T>
std::vector<Shard<T>> allocate_shards(Runtime& runtime, const NamedSharding& sharding,
                                      const Shape& shape) {
  std::vector<Shard<T>> shards;
  shards.reserve(sharding.mesh().local_positions().size());
  for (const auto position : sharding.mesh().local_positions())
    shards.push_back(allocate_shard<T>(runtime, sharding, position, shape));
  return shards;
}

}  // namespace detail
}  // namespace v0
}  // namespace loadax
