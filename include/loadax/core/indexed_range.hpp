// A random-access range that is a count and a function of the position.
#pragma once

#include <compare>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

namespace loadax {
inline namespace v0 {

/// The values f(0), f(1), ..., f(size - 1), computed when looked at. `F` is a small semiregular
/// function object; the range owns nothing else.
template <class F>
class IndexedRange {
 public:
  class iterator {
    using Value = std::invoke_result_t<const F&, std::size_t>;

   public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category =
        std::conditional_t<std::is_reference_v<Value>, std::random_access_iterator_tag,
                           std::input_iterator_tag>;
    using value_type = std::remove_cvref_t<Value>;
    using reference = Value;
    using pointer = void;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    iterator(F f, std::ptrdiff_t at) : f_(f), at_(at) {}

    reference operator*() const { return f_(static_cast<std::size_t>(at_)); }
    reference operator[](difference_type n) const { return *(*this + n); }
    iterator& operator+=(difference_type n) { return at_ += n, *this; }
    iterator& operator-=(difference_type n) { return at_ -= n, *this; }
    iterator& operator++() { return *this += 1; }
    iterator& operator--() { return *this -= 1; }
    iterator operator++(int) { return std::exchange(*this, *this + 1); }
    iterator operator--(int) { return std::exchange(*this, *this - 1); }
    friend iterator operator+(iterator i, difference_type n) { return i += n; }
    friend iterator operator+(difference_type n, iterator i) { return i += n; }
    friend iterator operator-(iterator i, difference_type n) { return i -= n; }
    friend difference_type operator-(const iterator& a, const iterator& b) { return a.at_ - b.at_; }
    friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }
    friend auto operator<=>(const iterator& a, const iterator& b) { return a.at_ <=> b.at_; }

   private:
    F f_{};
    std::ptrdiff_t at_ = 0;
  };

  IndexedRange() = default;
  IndexedRange(std::size_t size, F f) : f_(f), size_(size) {}

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  iterator begin() const { return {f_, 0}; }
  iterator end() const { return {f_, static_cast<std::ptrdiff_t>(size_)}; }
  /// @pre i < size()
  std::invoke_result_t<const F&, std::size_t> operator[](std::size_t i) const { return f_(i); }

 private:
  F f_{};
  std::size_t size_ = 0;
};

}  // namespace v0
}  // namespace loadax
