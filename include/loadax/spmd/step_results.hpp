// What the devices' code returned, put together.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/array/host_array.hpp>
#include <loadax/array/structure.hpp>
#include <loadax/array/view.hpp>
#include <loadax/core/element_type.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/mesh/mesh.hpp>
#include <loadax/placement/array.hpp>
#include <loadax/placement/copy_batch.hpp>
#include <loadax/placement/specs.hpp>
#include <loadax/placement/strided_copy.hpp>
#include <loadax/sharding/named_sharding.hpp>
#include <loadax/sharding/partition_spec.hpp>
#include <loadax/spmd/arena.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

/// A device's part of a result, in device memory of its own.
template <class T>
struct Part {
  Shape shape;
  std::shared_ptr<DeviceBuffer> buffer;
};

}  // namespace detail

template <class T>
struct structure<detail::Part<T>> : leaf_structure<T> {};

namespace detail {

/// The results of a step, one for each local device.
template <class Result>
class StepResults {
  static constexpr bool is_number = NamedElement<Result>;
  static_assert(is_number || ArrayStructure<Result>,
                "loadax: the code of a device must return nothing, a number, or a structure of "
                "views or HostArrays");

 public:
  explicit StepResults(std::size_t devices) : parts_(devices) {}

  /// Keeps the result of local device k; called on its thread, before its arena goes.
  void keep(std::size_t k, Result result, const Arena& arena) {
    if constexpr (is_number) {
      parts_[k] = result;
    } else {
      parts_[k] = map_structure<Part>(
          [&](const LeafPath&, auto& leaf) {
            using T = typename structure<std::remove_cvref_t<decltype(leaf)>>::element_type;
            auto buffer =
                std::make_shared<DeviceBuffer>(arena.shared_memory(), leaf.size() * sizeof(T));
            Box whole;
            for (const auto size : leaf.shape()) whole.push_back({0, size});
            buffer->memory()
                .copy_in(copy_of_box(sizeof(T), whole, leaf.data(), whole, buffer->data(), whole))
                .wait();
            return Part<T>{leaf.shape(), std::move(buffer)};
          },
          result);
    }
  }

  /// The number, or the arrays over the mesh.
  /// @throws ArgumentError, naming the leaf, where the parts do not make an array under the spec
  template <class OutSpec>
  auto assemble(const Mesh& mesh, const OutSpec& out_spec,
                const std::shared_ptr<Runtime>& runtime) {
    if constexpr (is_number) {
      static_assert(std::is_convertible_v<const OutSpec&, const PartitionSpec&>,
                    "loadax: a number needs one out_spec, not a structure of them");
      if (!NamedSharding(mesh, out_spec).is_fully_replicated())
        throw ArgumentError(
            fmt::format("a step that returns a number has the out_spec {}", to_string(out_spec)),
            "a number is the same on all devices: its out_spec is P()");
      return *parts_[0];
    } else {
      // Leaves stand in the same order in every device's result.
      std::size_t leaf = 0;
      return map_structure<Array>(
          [&](const LeafPath& path, auto& first, const PartitionSpec& spec) {
            using T = typename structure<std::remove_cvref_t<decltype(first)>>::element_type;
            return naming_leaf(
                path, [&] { return array_of<T>(mesh, spec, runtime, first.shape, leaf++); });
          },
          *parts_[0], out_spec);
    }
  }

 private:
  template <class R, bool number>
  struct KeptAs {
    using type = R;
  };
  template <class R>
  struct KeptAs<R, false> {
    using type = rebind_t<R, Part>;
  };

  template <class T>
  Array<T> array_of(const Mesh& mesh, const PartitionSpec& spec,
                    const std::shared_ptr<Runtime>& runtime, const Shape& shard_shape,
                    std::size_t leaf) {
    NamedSharding sharding(mesh, spec);
    if (spec.entries().size() > shard_shape.size())
      throw ArgumentError(fmt::format("a result of shape {} on each device under the out_spec {}",
                                      bracketed(shard_shape), to_string(spec)),
                          "give the out_spec at most one entry for each dimension of the result");
    Shape shape = shard_shape;
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] *= sharding.factor(d);
    std::vector<Shard<T>> shards;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      auto part = part_of_device<T>(k, leaf);
      const std::size_t position = mesh.local_positions()[k];
      if (part.shape != shard_shape)
        throw ArgumentError(
            fmt::format("a result has shape {} on device {} and {} on device {}",
                        bracketed(shard_shape), mesh.devices()[mesh.local_positions()[0]].id,
                        bracketed(part.shape), mesh.devices()[position].id),
            "all devices must return equal shapes");
      Shard<T> shard;
      shard.device = mesh.devices()[position];
      shard.index = sharding.index_at(position, shape);
      shard.replica_id = sharding.replica_id_at(position);
      shard.shape = shard_shape;
      shard.data = static_cast<const T*>(part.buffer->data());
      shard.buffer = std::move(part.buffer);
      shards.push_back(std::move(shard));
    }
    return {shape, std::move(sharding), std::move(shards), runtime};
  }

  /// Leaf number `leaf` of device k's result.
  template <class T>
  Part<T> part_of_device(std::size_t k, std::size_t leaf) {
    Part<T> found;
    bool exists = false;
    std::size_t at = 0;
    for_each_leaf(
        [&]<class U>(const LeafPath&, Part<U>& part) {
          if constexpr (std::is_same_v<T, U>) {
            if (at == leaf) {
              found = part;
              exists = true;
            }
          }
          ++at;
        },
        *parts_[k]);
    if (!exists)
      throw ArgumentError("devices returned structures of different form",
                          "vectors and maps in a result must have the same entries on all devices");
    return found;
  }

  std::vector<std::optional<typename KeptAs<Result, is_number>::type>> parts_;
};

}  // namespace detail
}  // namespace v0
}  // namespace loadax
