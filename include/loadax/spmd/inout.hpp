// Arrays that a step changes in place.
#pragma once

#include <cstddef>
#include <utility>

#include <loadax/array/structure.hpp>
#include <loadax/placement/array.hpp>

namespace loadax {
inline namespace v0 {

/// An argument of a step that it changes in place.
template <class S>
class InOut {
 public:
  explicit InOut(S& arrays) : arrays_(&arrays) {}
  S& get() const noexcept { return *arrays_; }

 private:
  S* arrays_;
};

/// Marks an argument of a step as changed in place: the device's code gets a View that writes. The
/// arrays must lie as the step's in_spec says. Where another handle shares their buffers, that one
/// keeps the old contents. After a step that threw, contents are valid but unspecified.
template <ArrayStructure S>
InOut<S> inout(S& arrays) {
  return InOut<S>(arrays);
}
template <ArrayStructure S>
InOut<S> inout(const S& arrays) = delete;

namespace detail {

template <class>
inline constexpr bool is_inout = false;
template <class S>
inline constexpr bool is_inout<InOut<S>> = true;

/// The array with buffers of its own: itself, where nothing else shares them.
template <class T>
Array<T> with_own_buffers(Array<T> array) {
  auto copies = allocate_shards<T>(*array.runtime(), array.sharding(), array.shape());
  const auto shards = array.addressable_shards();
  for (std::size_t k = 0; k < copies.size(); ++k) {
    auto& memory = copies[k].buffer->memory();
    memory
        .copy_between(copy_of_box(sizeof(T), shards[k].index, shards[k].data, shards[k].index,
                                  copies[k].buffer->data(), shards[k].index),
                      shards[k].buffer->memory())
        .wait();
  }
  return {array.shape(), array.sharding(), std::move(copies), array.runtime()};
}

}  // namespace detail
}  // namespace v0
}  // namespace loadax
