// Samples stacked: one array for each field of the example.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <loadax/array/host_array.hpp>
#include <loadax/array/leaf_path.hpp>
#include <loadax/array/structure.hpp>
#include <loadax/core/error.hpp>
#include <loadax/data/example.hpp>

namespace loadax {
inline namespace v0 {

namespace detail {

template <class Example, template <class> class Leaf>
struct BatchLeaves {
  template <std::size_t... I>
  static auto make(std::index_sequence<I...>)
      -> std::tuple<Leaf<typename field<field_t<Example, I>>::element>...>;
  using type = decltype(make(std::make_index_sequence<fields_of<Example>>{}));
};

}  // namespace detail

/// One array [rows, ...] for each field of Example: a `Batch<Example>` holds HostArrays, a
/// `Batch<Example, Array>` arrays over a mesh. It is a structure: placement functions map over its
/// arrays. Fields are reached by `batch[&Example::image]`, `get<&Example::image>(batch)`,
/// `get<0>(batch)`, or structured bindings.
template <class Example, template <class> class Leaf = HostArray>
class Batch {
  static_assert(
      ExampleType<Example>,
      "loadax: an example must be a field (a number, an array of fixed size, or a vector, "
      "span or HostArray of those) or a tuple, pair or aggregate of them, with 1 to 16 "
      "public fields and no base class, reference, bit-field or nameless union; specialise "
      "loadax::field<F> for a type of your own");

 public:
  using example_type = Example;
  using leaves_type = typename detail::BatchLeaves<Example, Leaf>::type;
  static constexpr std::size_t fields = std::tuple_size_v<leaves_type>;

  Batch() = default;
  explicit Batch(leaves_type leaves) : leaves_(std::move(leaves)) {}

  template <std::size_t I>
  std::tuple_element_t<I, leaves_type>& get() & noexcept {
    return std::get<I>(leaves_);
  }
  template <std::size_t I>
  const std::tuple_element_t<I, leaves_type>& get() const& noexcept {
    return std::get<I>(leaves_);
  }
  template <std::size_t I>
  std::tuple_element_t<I, leaves_type>&& get() && noexcept {
    return std::get<I>(std::move(leaves_));
  }

  template <class M, std::same_as<Example> E>
  auto& operator[](M E::* member) & {
    return at(*this, member);
  }
  template <class M, std::same_as<Example> E>
  const auto& operator[](M E::* member) const& {
    return at(*this, member);
  }
  template <class M, std::same_as<Example> E>
  auto operator[](M E::* member) && {
    return std::move(at(*this, member));
  }

  template <class M, class E>
    requires(!std::same_as<Example, E>)
  const std::tuple_element_t<0, leaves_type>& operator[](M E::*) const
      __attribute__((unavailable("loadax: this is a member of another type: write "
                                 "batch[&Example::field], where Example is the samples' type")));

  /// All arrays, in the order of the fields.
  leaves_type& leaves() noexcept { return leaves_; }
  const leaves_type& leaves() const noexcept { return leaves_; }

  /// The number of rows, valid or not.
  std::size_t rows() const { return std::get<0>(leaves_).shape()[0]; }

  /// Whether the batch tells which of its rows are samples; in one without mask, all are.
  bool has_mask() const noexcept { return mask_.has_value(); }
  /// [rows], true where a row holds a sample, false where it only fills up.
  /// @throws StateError where the batch has none
  Leaf<bool>& mask() { return mask_of(*this); }
  const Leaf<bool>& mask() const { return mask_of(*this); }
  void set_mask(Leaf<bool> mask) { mask_ = std::move(mask); }
  void drop_mask() noexcept { mask_.reset(); }

  bool operator==(const Batch&) const = default;

 private:
  template <class Self, class M, class E>
  static auto& at(Self& self, M E::* member) {
    using Element = typename field<std::remove_cv_t<M>>::element;
    using Found = std::conditional_t<std::is_const_v<Self>, const Leaf<Element>, Leaf<Element>>;
    const std::size_t index = detail::field_index_of(member);
    Found* found = nullptr;
    detail::for_each_field<Example>([&](auto i) {
      if constexpr (std::is_same_v<std::tuple_element_t<i, leaves_type>, Leaf<Element>>) {
        if (i == index) found = &std::get<i>(self.leaves_);
      }
    });
    return *found;
  }
  template <class Self>
  static auto& mask_of(Self& self) {
    if (!self.mask_)
      throw StateError("this batch has no mask: all of its rows are samples",
                       "ask has_mask() first, or load with a tail that is padded");
    return *self.mask_;
  }

  leaves_type leaves_;
  std::optional<Leaf<bool>> mask_;
};

template <std::size_t I, class Example, template <class> class Leaf>
auto& get(Batch<Example, Leaf>& batch) noexcept {
  return batch.template get<I>();
}
template <std::size_t I, class Example, template <class> class Leaf>
const auto& get(const Batch<Example, Leaf>& batch) noexcept {
  return batch.template get<I>();
}
template <std::size_t I, class Example, template <class> class Leaf>
auto&& get(Batch<Example, Leaf>&& batch) noexcept {
  return std::move(batch).template get<I>();
}

template <auto Member, class Example, template <class> class Leaf>
  requires detail::is_member_of<Example, decltype(Member)>
auto& get(Batch<Example, Leaf>& batch) noexcept {
  return batch.template get<detail::field_index<Member, Example>()>();
}
template <auto Member, class Example, template <class> class Leaf>
  requires detail::is_member_of<Example, decltype(Member)>
const auto& get(const Batch<Example, Leaf>& batch) noexcept {
  return batch.template get<detail::field_index<Member, Example>()>();
}
template <auto Member, class Example, template <class> class Leaf>
  requires(std::is_member_object_pointer_v<decltype(Member)> &&
           !detail::is_member_of<Example, decltype(Member)>)
const std::tuple_element_t<0, typename Batch<Example, Leaf>::leaves_type>& get(
    const Batch<Example, Leaf>& batch)
    __attribute__((unavailable("loadax: this is a member of another type: write "
                               "get<&Example::field>(batch), where Example is the samples' type")));

/// Its parts are the fields' arrays and, where it has one, the mask.
template <class Example, template <class> class Leaf>
struct structure<Batch<Example, Leaf>> {
  template <template <class> class M>
  using rebind = Batch<Example, M>;

  static void for_children(auto&& visit, const LeafPath& path, auto& batch, auto&... others) {
    detail::for_each_field<Example>([&](auto i) {
      visit(child_path<i>(path), i, batch.template get<i>(), part<i>(others)...);
    });
    if (batch.has_mask()) visit(LeafPath(path, "mask"), Mask{}, batch.mask(), mask(others)...);
  }

  static void append(auto& result, auto key, auto&& leaf) {
    if constexpr (std::is_same_v<decltype(key), Mask>) {
      result.set_mask(std::move(leaf));
    } else {
      result.template get<key>() = std::move(leaf);
    }
  }

 private:
  struct Mask {};

  template <std::size_t I>
  static LeafPath child_path(const LeafPath& parent) {
    if constexpr (detail::has_field_names<Example>) {
      static constexpr auto field = detail::example_field_name<Example, I>();
      return {parent, field};
    } else {
      return {parent, I};
    }
  }

  template <class Other>
  static constexpr bool is_batch = requires { typename Other::leaves_type; };

  /// The part of a companion that goes with field I: one of a batch's, or one value for all.
  template <std::size_t I, class Other>
  static auto& part(Other& other) {
    if constexpr (is_batch<Other>) {
      return other.template get<I>();
    } else {
      static_assert(!ArrayStructure<Other> || ArrayLeaf<Other>,
                    "loadax: a batch needs a batch, or one value, beside it");
      return other;
    }
  }
  template <class Other>
  static auto& mask(Other& other) {
    if constexpr (is_batch<Other>) {
      return other.mask();
    } else {
      return other;
    }
  }
};

}  // namespace v0
}  // namespace loadax

template <class Example, template <class> class Leaf>
struct std::tuple_size<loadax::Batch<Example, Leaf>>
    : std::tuple_size<typename loadax::Batch<Example, Leaf>::leaves_type> {};
template <std::size_t I, class Example, template <class> class Leaf>
struct std::tuple_element<I, loadax::Batch<Example, Leaf>>
    : std::tuple_element<I, typename loadax::Batch<Example, Leaf>::leaves_type> {};
