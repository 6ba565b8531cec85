// What the types of a step's code, specs and arguments tell before it runs.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <loadax/array/structure.hpp>
#include <loadax/array/view.hpp>
#include <loadax/core/element_type.hpp>
#include <loadax/placement/array.hpp>
#include <loadax/placement/specs.hpp>
#include <loadax/spmd/device_context.hpp>
#include <loadax/spmd/inout.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

template <class>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;

/// A tuple of N values of type T.
template <class T, std::size_t N>
using tuple_of = decltype(std::tuple_cat(std::declval<std::array<T, N>>()));

/// What the type of a function says of its calls; nothing, where it is a template or has overloads.
template <class>
struct FunctionSignature {
  static constexpr bool known = false;
};
template <class R, class... Parameters>
struct FunctionSignature<R(Parameters...)> {
  static constexpr bool known = true, callable_as_const = true;
  static constexpr std::size_t parameters = sizeof...(Parameters);
  using result = std::remove_cvref_t<R>;
};
template <class R, class... P>
struct FunctionSignature<R (*)(P...)> : FunctionSignature<R(P...)> {};
template <class R, class... P>
struct FunctionSignature<R (*)(P...) noexcept> : FunctionSignature<R(P...)> {};
template <class R, class C, class... P>
struct FunctionSignature<R (C::*)(P...) const> : FunctionSignature<R(P...)> {};
template <class R, class C, class... P>
struct FunctionSignature<R (C::*)(P...) const noexcept> : FunctionSignature<R(P...)> {};
template <class R, class C, class... P>
struct FunctionSignature<R (C::*)(P...)> : FunctionSignature<R(P...)> {
  static constexpr bool callable_as_const = false;
};
template <class F>
  requires requires { &F::operator(); }
struct FunctionSignature<F> : FunctionSignature<decltype(&F::operator())> {};

/// Stands for an argument of any type, which the parameter chooses.
struct AnyArgument {
  template <class T>
  operator T() const;
};

/// Whether code may be called with the context and `arguments` arguments, as far as its type tells.
template <class F, std::size_t arguments>
inline constexpr bool code_takes = [] {
  using Signature = FunctionSignature<F>;
  if constexpr (!Signature::known) {
    return true;
  } else if constexpr (Signature::callable_as_const && Signature::parameters == arguments + 1) {
    return true;
  } else {  // other parameters may have defaults
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return std::is_invocable_v<const F&, DeviceContext&,
                                 std::enable_if_t<(I >= 0), AnyArgument>...>;
    }(std::make_index_sequence<arguments>());
  }
}();

/// An array over a mesh, or a structure of them.
template <class S>
concept PlacedStructure = ArrayStructure<S> && std::same_as<rebind_t<S, Array>, S>;

template <class>
inline constexpr bool is_step_argument = false;
template <PlacedStructure S>
inline constexpr bool is_step_argument<S> = true;
template <PlacedStructure S>
inline constexpr bool is_step_argument<InOut<S>> = true;
/// The device's part of an argument: a structure of views.
template <class S>
struct device_part {
  using type = rebind_t<S, ConstView>;
};
template <class S>
struct device_part<InOut<S>> {
  using type = rebind_t<S, View>;
};
template <class Argument>
using device_part_t = typename device_part<Argument>::type;

/// A number, a structure of arrays, or a tuple of several of these.
template <class R>
inline constexpr bool is_result = NamedElement<R> || ArrayStructure<R>;
template <class... R>
inline constexpr bool is_result<std::tuple<R...>> = (is_result<R> && ...);

template <class R>
concept StepResult = std::is_void_v<R> || is_result<R>;

/// Whether an out_spec is one for the whole result, or one for each of its parts.
template <class Result, class OutSpec>
inline constexpr bool out_spec_fits =
    std::is_void_v<Result> || ArrayLeaf<OutSpec> || (!NamedElement<Result> && !is_tuple<OutSpec>);
template <class... Results, class OutSpec>
inline constexpr bool out_spec_fits<std::tuple<Results...>, OutSpec> = ArrayLeaf<OutSpec>;
template <class... Results, class... OutSpecs>
inline constexpr bool out_spec_fits<std::tuple<Results...>, std::tuple<OutSpecs...>> = [] {
  if constexpr (sizeof...(Results) == sizeof...(OutSpecs)) {
    return (out_spec_fits<Results, OutSpecs> && ...);
  } else {
    return false;
  }
}();

/// The same before the arguments' types are known, as far as the code's type tells.
template <class F, class OutSpec>
inline constexpr bool out_spec_fits_code = [] {
  if constexpr (FunctionSignature<F>::known) {
    return out_spec_fits<typename FunctionSignature<F>::result, OutSpec>;
  } else {
    return true;
  }
}();

}  // namespace detail
}  // namespace v0
}  // namespace loadax
