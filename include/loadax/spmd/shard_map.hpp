// Running one function on all devices of a mesh, each with its own shards.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/array/structure.hpp>
#include <loadax/array/view.hpp>
#include <loadax/core/error.hpp>
#include <loadax/mesh/mesh.hpp>
#include <loadax/placement/array.hpp>
#include <loadax/placement/runtime.hpp>
#include <loadax/placement/specs.hpp>
#include <loadax/placement/with_sharding_constraint.hpp>
#include <loadax/sharding/named_sharding.hpp>
#include <loadax/sharding/partition_spec.hpp>
#include <loadax/spmd/device_context.hpp>
#include <loadax/spmd/inout.hpp>
#include <loadax/spmd/replicas.hpp>
#include <loadax/spmd/step_results.hpp>
#include <loadax/spmd/step_signature.hpp>
#include <loadax/spmd/step_state.hpp>
#include <loadax/spmd/traffic.hpp>

namespace loadax {
inline namespace v0 {

struct ShardMapOptions {
  /// Whether a result or an inout argument that its spec replicates is compared after the step, bit
  /// by bit, between this process's replicas: finds a forgotten psum. Costs a pass over them.
  /// Numbers are always compared.
  bool check_replicas = false;
};

/// A step: made by `shard_map`, called like a function with arrays. Copies share the step.
/// Thread-safe: calls take turns.
template <class F, class InSpecs, class OutSpec>
class ShardMap {
  static constexpr std::size_t arity = std::tuple_size_v<InSpecs>;
  static_assert(detail::code_takes<F, arity>,
                "loadax: shard_map needs one in_spec for each argument: its code must be callable "
                "as const with the context and as many arguments as there are in_specs");
  static_assert(detail::out_spec_fits_code<F, OutSpec>,
                "loadax: shard_map needs one out_spec for each result: one for a number or a whole "
                "structure, or a std::tuple of as many as the code returns in a std::tuple");

 public:
  ShardMap(const Mesh& mesh, const InSpecs& in_specs, const OutSpec& out_spec, F code,
           const ShardMapOptions& options)
      : step_(std::make_shared<Step>(mesh, in_specs, out_spec, std::move(code), options)) {}

  /// To move is to copy, so that no step is ever empty.
  ShardMap(const ShardMap&) = default;
  ShardMap& operator=(const ShardMap&) = default;

  /// Runs the code on all local devices at once and returns its result.
  ///
  /// An argument is an array, a structure of arrays, or `inout` of one. The code of a device gets
  /// the context and, for each argument, the same structure of ConstViews (Views for inout) of its
  /// shards. Arguments that lie otherwise than their in_spec says are moved first; inout ones are
  /// not. It returns nothing; a number, which must be equal on all devices; a structure of views or
  /// HostArrays, which become shards of arrays that lie as the out_spec says; or an std::tuple of
  /// several of these, with one out_spec for all or an std::tuple of one for each.
  /// @throws what the code of a device threw, as it was, when all devices have stopped
  /// @throws ArgumentError, naming the argument and leaf, where an argument does not fit its spec,
  /// and where results differ that should be equal
  /// @throws StateError where the arguments are of another runtime, or devices miss a collective
  /// @complexity a dispatch to the devices' threads; copies of what is moved and returned
  /// @collective yes, among the processes of the mesh
  template <class... Args>
  auto operator()(Args&&... args) const {
    static_assert(sizeof...(Args) == arity,
                  "loadax: shard_map needs one in_spec for each argument");
    static_assert((detail::is_step_argument<std::remove_cvref_t<Args>> && ...),
                  "loadax: an argument of a step must be an array over the mesh, a structure of "
                  "them, or inout(...) of one: place it with host_to_global_device_array");
    static_assert(std::is_invocable_v<const F&, DeviceContext&, Part<Args>...>,
                  "loadax: the code of a device must be callable as const with the context and, "
                  "for each argument, the same structure of ConstViews, or of Views where it is "
                  "given as inout(...)");
    using Result =
        std::remove_cvref_t<std::invoke_result_t<const F&, DeviceContext&, Part<Args>...>>;
    static_assert(
        detail::StepResult<Result>,
        "loadax: the code of a device must return nothing, a number, a structure of views "
        "or HostArrays, or an std::tuple of several of those");
    static_assert(
        detail::out_spec_fits<Result, OutSpec>,
        "loadax: shard_map needs one out_spec for each result: one for a number or a "
        "whole structure, or a std::tuple of as many as the code returns in a std::tuple");
    return call(std::index_sequence_for<Args...>(), args...);
  }

  /// What this process's devices moved in this step's calls so far, by collective.
  Traffic traffic() const { return step_->state.total_traffic(); }
  void reset_traffic() { step_->state.reset_traffic(); }

 private:
  template <class Arg>
  using Part = detail::device_part_t<std::remove_cvref_t<Arg>>;

  /// A spec, or a structure of them, with its shardings made.
  template <class Specs>
  using Shardings = rebind_t<Specs, detail::ShardingOf>;
  /// @throws ArgumentError that begins with `what`
  template <class Specs>
  static Shardings<Specs> shardings(const std::string& what, const Mesh& mesh, const Specs& specs) {
    try {
      return map_structure<detail::ShardingOf>(
          [&](const LeafPath& path, const auto& spec) {
            using T = typename structure<std::remove_cvref_t<decltype(spec)>>::element_type;
            return detail::naming_leaf(
                path, [&] { return detail::ShardingOf<T>{NamedSharding(mesh, spec)}; });
          },
          specs);
    } catch (const ArgumentError& error) {
      throw with_context(fmt::format("shard_map: {}: ", what), error);
    }
  }
  template <class>
  struct EachShardings;
  template <class... Specs>
  struct EachShardings<std::tuple<Specs...>> {
    using type = std::tuple<Shardings<Specs>...>;
    static type make(const Mesh& mesh, const std::tuple<Specs...>& specs) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return type{shardings(fmt::format("in_spec {}", I), mesh, std::get<I>(specs))...};
      }(std::index_sequence_for<Specs...>());
    }
  };

  struct Step {
    Step(const Mesh& mesh, const InSpecs& in, const OutSpec& out, F f, const ShardMapOptions& o)
        : in_shardings(EachShardings<InSpecs>::make(mesh, in)),
          out_shardings(shardings("out_spec", mesh, out)),
          code(std::move(f)),
          options(o),
          state(mesh, current_runtime()) {}

    typename EachShardings<InSpecs>::type in_shardings;
    Shardings<OutSpec> out_shardings;
    F code;
    ShardMapOptions options;
    detail::StepState state;
  };

  template <std::size_t... I, class... Args>
  auto call(std::index_sequence<I...>, Args&... args) const {
    auto& state = step_->state;
    // First all arguments that are only read, so that an inout one that shares their buffers
    // leaves them as they are.
    auto placed = std::tuple<Placed<Args>...>{
        this->template place<I>(args, std::get<I>(step_->in_shardings))...};
    const auto run = [&](DeviceContext& context, [[maybe_unused]] std::size_t k) {
      return std::invoke(std::as_const(step_->code), context, views(std::get<I>(placed), k)...);
    };
    using Result = std::invoke_result_t<decltype(run)&, DeviceContext&, std::size_t>;
    const auto prepare = [&] {
      std::set<const void*> seen;
      (own_buffers<I>(std::get<I>(placed), seen), ...);
    };
    if constexpr (std::is_void_v<Result>) {
      state.run(prepare, [&](std::size_t k) {
        DeviceContext context(state, k);
        run(context, k);
      });
      (check_replicas<I>(std::get<I>(placed)), ...);
    } else {
      detail::StepResults<Result> results(state.mesh().local_positions().size());
      state.run(prepare, [&](std::size_t k) {
        DeviceContext context(state, k);
        results.keep(k, run(context, k), state.arena(k));
      });
      (check_replicas<I>(std::get<I>(placed)), ...);
      return results.assemble(step_->out_shardings, state.runtime(), step_->options.check_replicas);
    }
  }

  template <class Arg>
  using Placed = std::remove_cvref_t<Arg>;

  template <std::size_t I, class Arg, class Wanted>
  Placed<Arg> place(Arg& arg, const Wanted& shardings) const {
    auto& state = step_->state;
    const auto check = [&](const LeafPath& path, const auto& array, const auto& wanted) {
      if (array.runtime() != state.runtime())
        throw StateError(fmt::format("argument {}: {}the array was placed with another runtime "
                                     "than the step's",
                                     I, path.prefix()),
                         "make the step and place its arguments in the same MeshScope");
      if constexpr (detail::is_inout<Placed<Arg>>) {
        const NamedSharding& sharding = *wanted.sharding;
        if (array.sharding() == sharding) return;
        sharding.check(array.shape());
        if (!array.sharding().is_equivalent_to(sharding, array.shape().size()))
          throw ArgumentError(
              fmt::format("argument {}: {}an inout array lies as {}, the step's in_spec is {}", I,
                          path.prefix(), to_string(array.sharding()), to_string(sharding)),
              "place it with the step's in_spec: it is not moved behind your back");
      }
    };
    if constexpr (detail::is_inout<Placed<Arg>>) {
      for_each_leaf(check, arg.get(), shardings);
      return arg;
    } else {
      for_each_leaf(check, arg, shardings);
      try {
        return detail::constrain(state.mesh(), arg, shardings);
      } catch (const ArgumentError& error) {
        throw with_context(fmt::format("argument {}: ", I), error);
      }
    }
  }

  template <std::size_t I, class Arg>
  static void own_buffers(Arg& arg, std::set<const void*>& seen) {
    if constexpr (detail::is_inout<Arg>) {
      for_each_leaf(
          [&](const LeafPath& path, auto& array) {
            if (array.is_shared()) array = detail::with_own_buffers(array);
            for (const auto& shard : array.addressable_shards())
              if (shard.data != nullptr && !seen.insert(shard.data).second)
                throw ArgumentError(
                    fmt::format("argument {}: {}the same array is inout twice", I, path.prefix()),
                    "give each array that the step changes once");
          },
          arg.get());
    }
  }

  /// That what the step left in an inout argument is the same wherever it should be, if asked.
  template <std::size_t I, class Arg>
  void check_replicas([[maybe_unused]] Arg& arg) const {
    if constexpr (detail::is_inout<Arg>) {
      if (!step_->options.check_replicas) return;
      for_each_leaf(
          [](const LeafPath& path, const auto& array) {
            detail::compare_replicas(fmt::format("argument {}: {}an inout array", I, path.prefix()),
                                     array);
          },
          arg.get());
    }
  }

  /// The argument's shards on local device k.
  template <class Arg>
  static auto views(Arg& arg, std::size_t k) {
    if constexpr (detail::is_inout<Arg>) {
      return map_structure<View>(
          [k](const LeafPath&, auto& array) {
            using T = typename structure<std::remove_cvref_t<decltype(array)>>::element_type;
            const auto view = array.addressable_shards()[k].view();
            return View<T>(const_cast<T*>(view.data()), view.shape());
          },
          arg.get());
    } else {
      return map_structure<ConstView>(
          [k](const LeafPath&, const auto& array) { return array.addressable_shards()[k].view(); },
          arg);
    }
  }

  std::shared_ptr<Step> step_;
};

/// Maps a function over the shards of its arguments, as JAX's shard_map:
/// `code(context, shards...)` is the program of one device (see DeviceContext). There is one
/// in_spec for each argument; an in_spec or out_spec is one PartitionSpec for a whole argument or,
/// in an `std::tuple` of in_specs, a structure of specs; a braced list may hold plain in_specs
/// only. The code is called by several threads at once and must be callable as const. The runtime
/// is the one in scope.
///
/// `shard_map(mesh, std::tuple{params_specs, P("data")}, std::tuple{P(), P("data")}, step)`: two
/// arguments, the first one a structure; two results.
/// @throws ArgumentError for a spec that does not fit the mesh; StateError where the runtime does
/// not reach the mesh's processes
template <class... InSpecs, class OutSpec, class F>
ShardMap<F, std::tuple<InSpecs...>, OutSpec> shard_map(const Mesh& mesh,
                                                       const std::tuple<InSpecs...>& in_specs,
                                                       const OutSpec& out_spec, F code,
                                                       const ShardMapOptions& options = {}) {
  return {mesh, in_specs, out_spec, std::move(code), options};
}

/// The same with a braced list of specs.
template <std::size_t N, class OutSpec, class F>
ShardMap<F, detail::tuple_of<PartitionSpec, N>, OutSpec> shard_map(
    const Mesh& mesh, const PartitionSpec (&in_specs)[N], const OutSpec& out_spec, F code,
    const ShardMapOptions& options = {}) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return shard_map(mesh, std::make_tuple(in_specs[I]...), out_spec, std::move(code), options);
  }(std::make_index_sequence<N>());
}

/// The same for a function of one argument: a spec, or a structure of specs that is no tuple.
template <ArrayStructure InSpec, class OutSpec, class F>
  requires(!detail::is_tuple<InSpec>)
ShardMap<F, std::tuple<InSpec>, OutSpec> shard_map(const Mesh& mesh, const InSpec& in_spec,
                                                   const OutSpec& out_spec, F code,
                                                   const ShardMapOptions& options = {}) {
  return shard_map(mesh, std::tuple<InSpec>(in_spec), out_spec, std::move(code), options);
}

}  // namespace v0
}  // namespace loadax
