// What the devices' code returned, put together.
#pragma once

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
#include <loadax/spmd/replicas.hpp>

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

/// The results of a step, one for each local device: numbers, or structures of arrays.
template <class Result>
class StepResults {
  static constexpr bool is_number = NamedElement<Result>;

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
            const auto copy =
                copy_of_box(sizeof(T), whole, leaf.data(), whole, buffer->data(), whole);
            auto& memory = buffer->memory();
            constexpr bool on_host =
                std::is_same_v<std::remove_cvref_t<decltype(leaf)>, HostArray<T>>;
            (on_host ? memory.copy_in(copy) : memory.copy_between(copy, memory)).wait();
            return Part<T>{leaf.shape(), std::move(buffer)};
          },
          result);
    }
  }

  /// The number, or the arrays over the mesh.
  /// @throws ArgumentError, naming the leaf, where the parts do not make an array under the
  /// sharding, or differ where they should be equal
  template <class Shardings>
  auto assemble(const Shardings& shardings, const std::shared_ptr<Runtime>& runtime,
                bool check_replicas) {
    if constexpr (is_number) {
      return number(*shardings.sharding);
    } else {
      check_forms();
      // Leaves stand in the same order in every device's result.
      std::size_t leaf = 0;
      return map_structure<Array>(
          [&](const LeafPath& path, auto& first, const auto& wanted) {
            using T = typename structure<std::remove_cvref_t<decltype(first)>>::element_type;
            return naming_leaf(path, [&] {
              auto array = array_of<T>(*wanted.sharding, runtime, first.shape, leaf++);
              if (check_replicas) compare_replicas("the result", array);
              return array;
            });
          },
          *parts_[0], shardings);
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

  /// That maps and vectors have the same entries on all devices.
  void check_forms() const {
    for (std::size_t k = 1; k < parts_.size(); ++k) {
      try {
        for_each_leaf([](const LeafPath&, const auto&, const auto&) {}, *parts_[0], *parts_[k]);
      } catch (const ArgumentError& error) {
        throw ArgumentError(
            fmt::format("local devices 0 and {} returned structures of different form: {}", k,
                        error.text()),
            "maps and vectors in a result must have the same entries on all devices");
      }
    }
  }

  Result number(const NamedSharding& sharding) const {
    if (!sharding.is_fully_replicated())
      throw ArgumentError(fmt::format("a step that returns a number has the out_spec {}",
                                      to_string(sharding.spec())),
                          "a number is the same on all devices: its out_spec is P()");
    const auto devices = sharding.mesh().local_devices();
    for (std::size_t k = 1; k < parts_.size(); ++k)
      if (std::memcmp(&*parts_[k], &*parts_[0], sizeof(Result)) != 0)
        throw differing_replicas("the result", devices[0], devices[k]);
    return *parts_[0];
  }

  template <class T>
  Array<T> array_of(const NamedSharding& sharding, const std::shared_ptr<Runtime>& runtime,
                    const Shape& shard_shape, std::size_t leaf) {
    const Mesh& mesh = sharding.mesh();
    const PartitionSpec& spec = sharding.spec();
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
    return {shape, sharding, std::move(shards), runtime};
  }

  /// Leaf number `leaf` of device k's result.
  template <class T>
  Part<T> part_of_device(std::size_t k, std::size_t leaf) {
    Part<T> found;
    std::size_t at = 0;
    for_each_leaf(
        [&]<class U>(const LeafPath&, Part<U>& part) {
          if constexpr (std::is_same_v<T, U>) {
            if (at == leaf) found = part;
          }
          ++at;
        },
        *parts_[k]);
    return found;
  }

  std::vector<std::optional<typename KeptAs<Result, is_number>::type>> parts_;
};

/// Several results, each under a spec of its own or all under one.
template <class... Result>
class StepResults<std::tuple<Result...>> {
  using Indices = std::index_sequence_for<Result...>;

 public:
  explicit StepResults(std::size_t devices) : each_(StepResults<Result>(devices)...) {}

  void keep(std::size_t k, std::tuple<Result...> results, const Arena& arena) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (std::get<I>(each_).keep(k, std::move(std::get<I>(results)), arena), ...);
    }(Indices());
  }

  /// As that of each result, the message naming which.
  template <class Shardings>
  auto assemble(const Shardings& shardings, const std::shared_ptr<Runtime>& runtime,
                bool check_replicas) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      using Assembled = std::tuple<decltype(assemble_one<I>(shardings_of<I>(shardings), runtime,
                                                            check_replicas))...>;
      return Assembled{assemble_one<I>(shardings_of<I>(shardings), runtime, check_replicas)...};
    }(Indices());
  }

 private:
  template <std::size_t I, class Shardings>
  static const auto& shardings_of(const Shardings& shardings) {
    if constexpr (ArrayLeaf<Shardings>) {
      return shardings;
    } else {
      return std::get<I>(shardings);
    }
  }

  template <std::size_t I, class Shardings>
  auto assemble_one(const Shardings& shardings, const std::shared_ptr<Runtime>& runtime,
                    bool check_replicas) {
    try {
      return std::get<I>(each_).assemble(shardings, runtime, check_replicas);
    } catch (const ArgumentError& error) {
      throw with_context(fmt::format("result {}: ", I), error);
    }
  }

  std::tuple<StepResults<Result>...> each_;
};

}  // namespace detail
}  // namespace v0
}  // namespace loadax
