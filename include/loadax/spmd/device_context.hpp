// What the code of one device may ask and do in a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
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
#include <loadax/spmd/collective_shapes.hpp>
#include <loadax/spmd/collectives.hpp>
#include <loadax/spmd/permute_pairs.hpp>
#include <loadax/spmd/step_state.hpp>

namespace loadax {
inline namespace v0 {

/// An element that is greater than another, less, or equal.
template <class T>
concept OrderedElement = NamedElement<T> && detail::is_ordered<T>;

/// One device's side of a step: handed to its code by `shard_map`, valid while that runs.
///
/// Collectives run over one named axis or several (`axes("data", "model")`, the first major),
/// among the devices that differ only along those. All devices of the mesh make the same calls, in
/// the same order, with equal shapes: otherwise the step fails. They are JAX's, with its defaults.
/// They take views or structures of views, and return views into the step's arena: valid until the
/// code returns or a surrounding ArenaScope ends; those whose result is like their argument also
/// take numbers. The `..._into` forms write where they are told: for psum, pmean, pmax, pmin and
/// pbroadcast that may be the argument itself, for psum_scatter along dimension 0 this device's
/// part of it; for all_gather along dimension 0 the argument may be this device's part of the
/// destination. Reductions run in mesh order: equal bits in every run; integers wrap, numbers of 16
/// bits are added up in float and rounded once, the maximum with NaN is NaN.
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
    return each(x, std::identity(), [](auto, auto) {});
  }

  /// The sum over the members. @collective yes
  /// @complexity each of n members reads the others' x whole; in place, or from 32 KiB on where n >
  /// 2, its n-th of each and the others' sums: 2 (n - 1) / n of x in all
  template <class X>
  auto psum(const X& x, const AxisList& axes) {
    return like(x, [&](auto in, auto out) { psum_into(in, out, axes); });
  }
  template <class T>
  void psum_into(std::type_identity_t<ConstView<T>> x, View<T> out, const AxisList& axes) {
    static_assert(!std::is_same_v<T, bool>,
                  "loadax: bool has no psum: convert to an integer, or take pmax");
    static_assert(NamedElement<T>, "loadax: psum needs elements that are numbers");
    reduce_into(Collective::psum, ReduceOp::sum, x, out, axes);
  }

  /// The mean over the members: psum over the number of members. @collective yes
  template <class X>
  auto pmean(const X& x, const AxisList& axes) {
    return like(x, [&](auto in, auto out) { pmean_into(in, out, axes); });
  }
  template <class T>
  void pmean_into(std::type_identity_t<ConstView<T>> x, View<T> out, const AxisList& axes) {
    static_assert(NamedElement<T> && !std::is_integral_v<T>,
                  "loadax: pmean needs floating point or complex elements");
    psum_into(x, out, axes);
    using Wide = detail::accumulator_t<T>;
    const auto size = static_cast<Wide>(axis_size(axes));
    for (auto& value : out.values()) value = static_cast<T>(static_cast<Wide>(value) / size);
  }

  /// The greatest of the members' elements; of bool, whether one is true. @collective yes
  /// @complexity as psum
  template <class X>
  auto pmax(const X& x, const AxisList& axes) {
    return like(x, [&](auto in, auto out) { pmax_into(in, out, axes); });
  }
  template <class T>
  void pmax_into(std::type_identity_t<ConstView<T>> x, View<T> out, const AxisList& axes) {
    static_assert(OrderedElement<T>, "loadax: pmax needs elements that have an order");
    reduce_into(Collective::pmax, ReduceOp::max, x, out, axes);
  }

  /// The least of the members' elements; of bool, whether all are true. @collective yes
  /// @complexity as psum
  template <class X>
  auto pmin(const X& x, const AxisList& axes) {
    return like(x, [&](auto in, auto out) { pmin_into(in, out, axes); });
  }
  template <class T>
  void pmin_into(std::type_identity_t<ConstView<T>> x, View<T> out, const AxisList& axes) {
    static_assert(OrderedElement<T>, "loadax: pmin needs elements that have an order");
    reduce_into(Collective::pmin, ReduceOp::min, x, out, axes);
  }

  /// All members' arrays, in order. @collective yes
  /// @throws ArgumentError where there is no such dimension
  /// @complexity reads each other member's x once
  template <ArrayStructure S>
  rebind_t<S, View> all_gather(const S& x, const AxisList& axes, AllGatherOptions options = {}) {
    const auto shape = [&](const Shape& x_shape) { return gathered(x_shape, axes, options); };
    return each(x, shape, [&](auto in, auto out) { all_gather_into(in, out, axes, options); });
  }
  template <class T>
  void all_gather_into(std::type_identity_t<ConstView<T>> x, View<T> out, const AxisList& axes,
                       AllGatherOptions options = {}) {
    expect_shape(Collective::all_gather, out.shape(), gathered(x.shape(), axes, options));
    const auto [outer, chunk] = split_at(x.shape(), options.axis);
    expect_apart(Collective::all_gather, x, out, x.data(),
                 outer == 1 ? own(out, chunk, axes) : nullptr);
    call<T>(axes, Collective::all_gather, x.shape(), {options.axis, options.tiled})
        .all_gather(x.data(), out.data(), outer, chunk);
  }

  /// The sum over the members, of which each gets its part. @collective yes
  /// @throws ArgumentError where there is no such dimension, or it does not divide
  /// @complexity reads this device's part of each other member's x
  template <ArrayStructure S>
  rebind_t<S, View> psum_scatter(const S& x, const AxisList& axes,
                                 PsumScatterOptions options = {}) {
    const auto shape = [&](const Shape& x_shape) { return scattered(x_shape, axes, options); };
    return each(x, shape, [&](auto in, auto out) { psum_scatter_into(in, out, axes, options); });
  }
  template <class T>
  void psum_scatter_into(std::type_identity_t<ConstView<T>> x, View<T> out, const AxisList& axes,
                         PsumScatterOptions options = {}) {
    static_assert(NamedElement<T> && !std::is_same_v<T, bool>,
                  "loadax: psum_scatter needs elements that are numbers");
    expect_shape(Collective::psum_scatter, out.shape(), scattered(x.shape(), axes, options));
    const auto [outer, row] = split_at(x.shape(), options.scatter_dimension);
    const std::size_t block = row / members(axes);
    expect_apart(Collective::psum_scatter, x, out, outer == 1 ? own(x, block, axes) : nullptr,
                 out.data());
    call<T>(axes, Collective::psum_scatter, x.shape(), {options.scatter_dimension, options.tiled})
        .psum_scatter(x.data(), out.data(), outer, block);
  }

  /// Each member's array divided among the members, and what each got put together: a transposition
  /// of the members and a dimension. Tiled, of 4 members, from [8, 3] split along 0 and put
  /// together along 1: [2, 12]. @collective yes
  /// @throws ArgumentError where there is no such dimension, or it does not divide
  /// @complexity reads this device's part of each other member's x
  template <ArrayStructure S>
  rebind_t<S, View> all_to_all(const S& x, const AxisList& axes, AllToAllOptions options = {}) {
    const auto shape = [&](const Shape& x_shape) {
      return detail::exchanged_shape(x_shape, members(axes), options);
    };
    return each(x, shape, [&](auto in, auto out) { all_to_all_into(in, out, axes, options); });
  }
  template <class T>
  void all_to_all_into(std::type_identity_t<ConstView<T>> x, View<T> out, const AxisList& axes,
                       AllToAllOptions options = {}) {
    const std::size_t n = members(axes);
    expect_shape(Collective::all_to_all, out.shape(),
                 detail::exchanged_shape(x.shape(), n, options));
    expect_apart(Collective::all_to_all, x, out, x.data(), nullptr);
    call<T>(axes, Collective::all_to_all, x.shape(),
            {options.split_axis, options.concat_axis, options.tiled})
        .all_to_all(x.data(), out.data(), x.size(), detail::block_exchange(x.shape(), n, options));
  }

  /// The array of the member that a pair sends here, or zeros where none does. The pairs name
  /// members by their axis_index along the axes in the order given, where JAX's take the mesh's
  /// order. @collective yes
  /// @throws ArgumentError for an index that no member has, and for one that is source or
  /// destination twice
  /// @complexity O(pairs + members); reads at most one other member's x
  template <class X>
  auto ppermute(const X& x, const AxisList& axes, const PermutePairs& pairs) {
    return like(x, [&](auto in, auto out) { ppermute_into(in, out, axes, pairs); });
  }
  template <class T>
  void ppermute_into(std::type_identity_t<ConstView<T>> x, View<T> out, const AxisList& axes,
                     const PermutePairs& pairs) {
    expect_shape(Collective::ppermute, out.shape(), x.shape());
    expect_apart(Collective::ppermute, x, out, x.data(), nullptr);
    const auto sources = pairs.sources(members(axes));
    std::uint64_t code = 0;
    for (const auto& source : sources) code = detail::mixed(code, source.value_or(~std::size_t{0}));
    call<T>(axes, Collective::ppermute, x.shape(), {code})
        .fetch(x.data(), out.data(), x.size(), sources[static_cast<std::size_t>(axis_index(axes))]);
  }

  /// The array of the member with index `source`. @collective yes
  /// @throws ArgumentError for an index that no member has
  /// @complexity reads the source's x
  template <class X>
  auto pbroadcast(const X& x, const AxisList& axes, std::int64_t source) {
    return like(x, [&](auto in, auto out) { pbroadcast_into(in, out, axes, source); });
  }
  template <class T>
  void pbroadcast_into(std::type_identity_t<ConstView<T>> x, View<T> out, const AxisList& axes,
                       std::int64_t source) {
    expect_shape(Collective::pbroadcast, out.shape(), x.shape());
    expect_apart(Collective::pbroadcast, x, out, x.data(), out.data());
    if (source < 0 || source >= axis_size(axes))
      throw ArgumentError(
          fmt::format("pbroadcast: source {} among {} devices", source, axis_size(axes)),
          "a device's index along the axes counts from 0");
    const auto from = static_cast<std::size_t>(source);
    call<T>(axes, Collective::pbroadcast, x.shape(), {from})
        .fetch(x.data(), out.data(), x.size(), from);
  }

 private:
  friend class ArenaScope;

  template <class T>
  detail::CollectiveCall<T> call(const AxisList& axes, Collective collective, const Shape& shape,
                                 std::initializer_list<std::uint64_t> parameters = {}) {
    return {state_, k_, state_.groups().set(axes), collective,
            detail::operation_code<T>(collective, shape, parameters)};
  }

  template <class T>
  void reduce_into(Collective collective, ReduceOp op, const ConstView<T>& x, const View<T>& out,
                   const AxisList& axes) {
    expect_shape(collective, out.shape(), x.shape());
    expect_apart(collective, x, out, x.data(), out.data());
    call<T>(axes, collective, x.shape()).reduce(op, x.data(), out.data(), x.size());
  }

  /// Of each leaf, what `into(argument, destination)` makes in a new array of shape `shape(its
  /// shape)`.
  template <class S, class ShapeOf, class Into>
  rebind_t<S, View> each(const S& x, ShapeOf&& shape, Into&& into) {
    return map_structure<View>(
        [&](const LeafPath&, const auto& leaf) {
          using T = typename structure<std::remove_cvref_t<decltype(leaf)>>::element_type;
          const ConstView<T> in(leaf);
          const View<T> out = allocate<T>(shape(in.shape()));
          into(in, out);
          return out;
        },
        x);
  }
  /// The same where the result has the argument's shape, which may be a number's.
  template <class X, class Into>
  auto like(const X& x, Into&& into) {
    static_assert(NamedElement<X> || ArrayStructure<X>,
                  "loadax: a collective takes a number, a view or a structure of views");
    if constexpr (NamedElement<X>) {
      X result{};
      into(ConstView<X>(&x, Shape{}), View<X>(&result, Shape{}));
      return result;
    } else {
      return each(x, std::identity(), into);
    }
  }

  std::size_t members(const AxisList& axes) const {
    return static_cast<std::size_t>(axis_size(axes));
  }
  Shape gathered(const Shape& shape, const AxisList& axes, AllGatherOptions options) const {
    return detail::gathered_shape("all_gather", shape, members(axes), options);
  }
  Shape scattered(const Shape& shape, const AxisList& axes, PsumScatterOptions options) const {
    return detail::scattered_shape("psum_scatter", shape, members(axes), options);
  }

  /// Elements before a dimension, and from it on.
  static std::pair<std::size_t, std::size_t> split_at(const Shape& shape, std::size_t dimension) {
    return {detail::elements_between(shape, 0, dimension),
            detail::elements_between(shape, dimension, shape.size())};
  }

  /// Where this device's block of elements begins in a view.
  template <class T>
  T* own(const View<T>& view, std::size_t block, const AxisList& axes) const {
    return view.data() + static_cast<std::size_t>(axis_index(axes)) * block;
  }

  /// That argument and destination share no memory, but where `in_place` and `same` are equal.
  template <class T>
  static void expect_apart(Collective what, const ConstView<T>& x, const View<T>& out,
                           std::type_identity_t<const T*> in_place,
                           std::type_identity_t<const T*> same) {
    const std::less<const T*> before;
    if (in_place == same || !before(x.data(), out.data() + out.size()) ||
        !before(out.data(), x.data() + x.size()))
      return;
    throw ArgumentError(fmt::format("{}_into: the destination {} overlaps the argument {}",
                                    name(what), bracketed(out.shape()), bracketed(x.shape())),
                        "give a place of its own, or where this call allows it exactly the "
                        "argument's own");
  }

  static void expect_shape(Collective what, const Shape& given, const Shape& needed) {
    if (given != needed)
      throw ArgumentError(fmt::format("{}_into: the destination has shape {}, the result {}",
                                      name(what), bracketed(given), bracketed(needed)),
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
