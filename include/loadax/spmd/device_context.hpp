// What the code of one device may ask and do in a step.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include <loadax/array/structure.hpp>
#include <loadax/array/view.hpp>
#include <loadax/comm/reduce.hpp>
#include <loadax/core/element_type.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/device/device.hpp>
#include <loadax/mesh/mesh.hpp>
#include <loadax/spmd/axis_groups.hpp>
#include <loadax/spmd/collectives.hpp>
#include <loadax/spmd/step_state.hpp>

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

/// Numbers that can be added.
template <class T>
concept Summable = NamedElement<T> && detail::has_sum<T>;

/// One device's side of a step: handed to its code by `shard_map`, valid while that runs.
///
/// Collectives run over one named axis or several (`axes("data", "model")`, the first major),
/// among the devices that differ only along those. All devices of the mesh make the same calls, in
/// the same order, with equal shapes: otherwise the step fails. They are JAX's, with its defaults.
/// They take views or structures of views, and return views into the step's arena: valid until the
/// code returns or a surrounding ArenaScope ends. The `..._into` forms write where they are told:
/// for psum and pmean that may be the argument itself, for psum_scatter along dimension 0 this
/// device's part of it; for all_gather along dimension 0 the argument may be this device's part of
/// the destination. Sums run in mesh order: equal bits in every run.
class DeviceContext {
 public:
  DeviceContext(detail::StepState& state, std::size_t k) : state_(state), k_(k) {}
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  const Mesh& mesh() const noexcept { return state_.mesh(); }
  const Device& device() const { return mesh().devices()[state_.position(k_)]; }

  /// This device's index along the axes. O(axes)
  std::int64_t axis_index(const AxisList& axes) const {
    std::int64_t index = 0;
    for (const auto axis : axes.in(mesh()))
      index = index * mesh().shape()[axis] + mesh().coordinate(state_.position(k_), axis);
    return index;
  }
  /// The number of devices along the axes. O(axes)
  std::int64_t axis_size(const AxisList& axes) const {
    std::int64_t size = 1;
    for (const auto axis : axes.in(mesh())) size *= mesh().shape()[axis];
    return size;
  }

  /// Memory for this step, of no particular value, in the arena.
  /// @throws std::bad_alloc where there is not enough; ArgumentError where the size overflows
  template <Element T>
  View<T> allocate(const Shape& shape) {
    return {static_cast<T*>(state_.arena(k_).allocate(byte_count(shape, sizeof(T)))), shape};
  }

  /// The same for each leaf's type and shape.
  template <ArrayStructure S>
  rebind_t<S, View> empty_like(const S& x) {
    return each(x, [&]<class T>(ConstView<T> view) { return allocate<T>(view.shape()); });
  }

  /// The sum over the members. @collective yes
  /// @complexity each of n members reads the others' x whole; in place, or from 32 KiB on where n >
  /// 2, its n-th of each and the others' sums: 2 (n - 1) / n of x in all
  template <Summable T>
  T psum(T x, const AxisList& axes) {
    T result{};
    psum_into(ConstView<T>(&x, Shape{}), View<T>(&result, Shape{}), axes);
    return result;
  }
  template <std::same_as<bool> T>
  T psum(T, const AxisList&) {
    static_assert(!std::same_as<T, bool>, "loadax: bool has no psum: convert to an integer first");
  }
  template <ArrayStructure S>
  rebind_t<S, View> psum(const S& x, const AxisList& axes) {
    return each(x, [&]<class T>(ConstView<T> view) {
      auto result = allocate<T>(view.shape());
      psum_into(view, result, axes);
      return result;
    });
  }
  template <class T>
  void psum_into(std::type_identity_t<ConstView<T>> x, View<T> out, const AxisList& axes) {
    static_assert(Summable<T>, "loadax: psum needs elements that are numbers");
    expect_shape("psum_into", out.shape(), x.shape());
    expect_apart("psum_into", x, out, x.data(), out.data());
    call<T>(axes, Collective::psum, x.shape()).psum(x.data(), out.data(), x.size());
  }

  /// The mean over the members: psum over the number of members. @collective yes
  template <Summable T>
  T pmean(T x, const AxisList& axes) {
    T result{};
    pmean_into(ConstView<T>(&x, Shape{}), View<T>(&result, Shape{}), axes);
    return result;
  }
  template <ArrayStructure S>
  rebind_t<S, View> pmean(const S& x, const AxisList& axes) {
    return each(x, [&]<class T>(ConstView<T> view) {
      auto result = allocate<T>(view.shape());
      pmean_into(view, result, axes);
      return result;
    });
  }
  template <class T>
  void pmean_into(std::type_identity_t<ConstView<T>> x, View<T> out, const AxisList& axes) {
    static_assert(Summable<T> && !std::is_integral_v<T>,
                  "loadax: pmean needs floating point or complex elements");
    psum_into(x, out, axes);
    const auto size = static_cast<T>(axis_size(axes));
    for (auto& value : out.values()) value /= size;
  }

  /// All members' arrays, in order. @collective yes
  /// @throws ArgumentError where there is no such dimension
  /// @complexity reads each other member's x once
  template <ArrayStructure S>
  rebind_t<S, View> all_gather(const S& x, const AxisList& axes, AllGatherOptions options = {}) {
    return each(x, [&]<class T>(ConstView<T> view) {
      auto result = allocate<T>(gathered_shape(view.shape(), axes, options));
      all_gather_into(view, result, axes, options);
      return result;
    });
  }
  template <class T>
  void all_gather_into(std::type_identity_t<ConstView<T>> x, View<T> out, const AxisList& axes,
                       AllGatherOptions options = {}) {
    expect_shape("all_gather_into", out.shape(), gathered_shape(x.shape(), axes, options));
    const auto [outer, chunk] = split_at(x.shape(), options.axis);
    expect_apart("all_gather_into", x, out, x.data(), outer == 1 ? own(out, chunk, axes) : nullptr);
    call<T>(axes, Collective::all_gather, x.shape(), options.axis, options.tiled)
        .all_gather(x.data(), out.data(), outer, chunk);
  }

  /// The sum over the members, of which each gets its part. @collective yes
  /// @throws ArgumentError where there is no such dimension, or it does not divide
  /// @complexity reads this device's part of each other member's x
  template <ArrayStructure S>
  rebind_t<S, View> psum_scatter(const S& x, const AxisList& axes,
                                 PsumScatterOptions options = {}) {
    return each(x, [&]<class T>(ConstView<T> view) {
      auto result = allocate<T>(scattered_shape(view.shape(), axes, options));
      psum_scatter_into(view, result, axes, options);
      return result;
    });
  }
  template <class T>
  void psum_scatter_into(std::type_identity_t<ConstView<T>> x, View<T> out, const AxisList& axes,
                         PsumScatterOptions options = {}) {
    static_assert(Summable<T>, "loadax: psum_scatter needs elements that are numbers");
    expect_shape("psum_scatter_into", out.shape(), scattered_shape(x.shape(), axes, options));
    const auto [outer, row] = split_at(x.shape(), options.scatter_dimension);
    const std::size_t block = row / static_cast<std::size_t>(axis_size(axes));
    expect_apart("psum_scatter_into", x, out, outer == 1 ? own(x, block, axes) : nullptr,
                 out.data());
    call<T>(axes, Collective::psum_scatter, x.shape(), options.scatter_dimension, options.tiled)
        .psum_scatter(x.data(), out.data(), outer, block);
  }

 private:
  friend class ArenaScope;

  template <class T>
  detail::CollectiveCall<T> call(const AxisList& axes, Collective collective, const Shape& shape,
                                 std::size_t axis = 0, bool tiled = false) {
    const auto element =
        static_cast<std::size_t>(detail::element_type_index<T>() + 1) * 1024 + sizeof(T);
    return {state_, k_, state_.groups().set(axes), collective,
            detail::operation_code(collective, element, shape, axis, tiled)};
  }

  /// Applies `f(ConstView<T>)` to each leaf.
  template <class S, class F>
  static rebind_t<S, View> each(const S& x, F&& f) {
    return map_structure<View>(
        [&](const LeafPath&, const auto& leaf) {
          using T = typename structure<std::remove_cvref_t<decltype(leaf)>>::element_type;
          return f(ConstView<T>(leaf));
        },
        x);
  }

  /// Elements before a dimension, and from it on.
  static std::pair<std::size_t, std::size_t> split_at(const Shape& shape, std::size_t dimension) {
    std::size_t outer = 1, inner = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) (d < dimension ? outer : inner) *= shape[d];
    return {outer, inner};
  }

  Shape gathered_shape(const Shape& shape, const AxisList& axes, AllGatherOptions options) const {
    const auto size = static_cast<std::size_t>(axis_size(axes));
    if (options.axis >= shape.size() + (options.tiled ? 0 : 1))
      throw ArgumentError(
          fmt::format("all_gather: {}axis {} of an array {}", options.tiled ? "tiled along " : "",
                      options.axis, bracketed(shape)),
          "axis counts the dimensions of the result from 0; a tiled one must be in the argument");
    Shape result;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (d == options.axis && !options.tiled) result.push_back(size);
      result.push_back(d == options.axis && options.tiled ? shape[d] * size : shape[d]);
    }
    if (options.axis == shape.size()) result.push_back(size);
    return result;
  }

  Shape scattered_shape(const Shape& shape, const AxisList& axes,
                        PsumScatterOptions options) const {
    const auto size = static_cast<std::size_t>(axis_size(axes));
    const std::size_t dimension = options.scatter_dimension;
    if (dimension >= shape.size())
      throw ArgumentError(
          fmt::format("psum_scatter: dimension {} of an array {}", dimension, bracketed(shape)),
          "scatter_dimension counts the dimensions of the argument from 0");
    if (options.tiled ? shape[dimension] % size != 0 : shape[dimension] != size)
      throw ArgumentError(fmt::format("psum_scatter: dimension {} of an array {} among {} devices",
                                      dimension, bracketed(shape), size),
                          options.tiled
                              ? "the dimension must be a multiple of the number of devices"
                              : "the dimension must have one element for each device; tiled = true "
                                "divides a larger one");
    Shape result;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (d != dimension)
        result.push_back(shape[d]);
      else if (options.tiled)
        result.push_back(shape[d] / size);
    }
    return result;
  }

  /// Where this device's block of elements begins in a view.
  template <class T>
  T* own(const View<T>& view, std::size_t block, const AxisList& axes) const {
    return view.data() + static_cast<std::size_t>(axis_index(axes)) * block;
  }

  /// That argument and destination share no memory, but where `in_place` and `same` are equal.
  template <class T>
  static void expect_apart(const char* what, const ConstView<T>& x, const View<T>& out,
                           const T* in_place, const T* same) {
    const std::less<const T*> before;
    if (in_place == same || !before(x.data(), out.data() + out.size()) ||
        !before(out.data(), x.data() + x.size()))
      return;
    throw ArgumentError(fmt::format("{}: the destination {} overlaps the argument {}", what,
                                    bracketed(out.shape()), bracketed(x.shape())),
                        "give a place of its own, or where this call allows it exactly the "
                        "argument's own");
  }

  static void expect_shape(const char* what, const Shape& given, const Shape& needed) {
    if (given != needed)
      throw ArgumentError(fmt::format("{}: the destination has shape {}, the result {}", what,
                                      bracketed(given), bracketed(needed)),
                          "give a view of the result's shape");
  }

  detail::StepState& state_;
  std::size_t k_;
};

/// Frees what the step's arena got while it lives: the results of collectives and `allocate`.
/// Scopes nest. A gathered layer is dropped with the scope that it was gathered in.
class ArenaScope {
 public:
  [[nodiscard]] explicit ArenaScope(DeviceContext& context)
      : arena_(context.state_.arena(context.k_)), mark_(arena_.mark()) {}
  ~ArenaScope() { arena_.release(mark_); }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena& arena_;
  std::size_t mark_;
};

}  // namespace v0
}  // namespace loadax
