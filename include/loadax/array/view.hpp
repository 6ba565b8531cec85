// An array in memory that somebody else owns.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include <loadax/array/host_array.hpp>
#include <loadax/array/structure.hpp>
#include <loadax/core/element_type.hpp>
#include <loadax/core/shape.hpp>

namespace loadax {
inline namespace v0 {

/// A dense, row-major array that does not own its memory: pointer and shape.
/// `View<const T>` reads, `View<T>` also writes.
template <class T>
class View {
  static_assert(Element<std::remove_const_t<T>>,
                "loadax: an array element must be trivially copyable");

 public:
  using value_type = std::remove_const_t<T>;

  View() = default;
  /// @pre `data` points to at least element_count(shape) elements
  View(T* data, const Shape& shape) : data_(data), shape_(shape), size_(element_count(shape)) {}
  View(HostArray<value_type>& array) : View(array.data(), array.shape()) {}
  View(const HostArray<value_type>& array)
    requires std::is_const_v<T>
      : View(array.data(), array.shape()) {}
  /// A view that writes is also one that reads.
  template <class U>
    requires(std::is_const_v<T> && std::same_as<U, value_type>)
  View(const View<U>& other) : View(other.data(), other.shape()) {}

  const Shape& shape() const noexcept { return shape_; }
  std::size_t rank() const noexcept { return shape_.size(); }
  /// Number of elements.
  std::size_t size() const noexcept { return size_; }
  std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  T* data() const noexcept { return data_; }
  /// The elements, row-major.
  std::span<T> values() const noexcept { return {data_, size_}; }

 private:
  T* data_ = nullptr;
  Shape shape_{0};
  std::size_t size_ = 0;
};

template <class T>
View(HostArray<T>&) -> View<T>;
template <class T>
View(const HostArray<T>&) -> View<const T>;

template <class T>
using ConstView = View<const T>;

template <class T>
struct structure<View<T>> : leaf_structure<std::remove_const_t<T>> {};

}  // namespace v0
}  // namespace loadax
