// The order of samples as a pure function: (size, seed, epoch, position) -> index.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/core/random.hpp>

namespace loadax {
inline namespace v0 {

/// A random permutation of [0, size) in O(1) memory, for any size up to 2^64 - 1.
///
/// Up to 256: a Fisher-Yates shuffle, stored. Above: a Feistel network of 8 rounds on a block of
/// bit_width(size - 1) bits with cycle walking (Black, Rogaway: "Ciphers with arbitrary finite
/// domains", 2002); each round's function is a random member of the strongly universal family
/// (a x + b) >> shift (Dietzfelbinger: "Universal hashing and k-wise independent random variables
/// via integer arithmetic without primes", 1996).
///
/// The order is final: the same (size, seed, epoch) gives the same order in every later release.
/// @complexity O(1) to make; at most two evaluations of the network an index on average
class IndexPermutation {
 public:
  static constexpr std::size_t rounds = 8;
  static constexpr std::size_t table_size = 256;

  explicit IndexPermutation(std::uint64_t size, std::uint64_t seed,
                            std::uint64_t epoch = 0) noexcept
      : size_(size) {
    CounterRandom random{seed, RandomStream::permutation, epoch, size};
    if (size <= table_size) {
      shuffle_table(random);
      return;
    }
    const int width = static_cast<int>(std::bit_width(size - 1));
    low_bits_ = (width + 1) / 2;
    high_bits_ = width - low_bits_;
    ::new (&rounds_) std::array<Round, rounds>;
    for (auto& round : rounds_) round = {random(), random()};
  }

  std::uint64_t size() const noexcept { return size_; }

  /// The index at a position.
  /// @throws IndexError where position >= size()
  std::uint64_t operator()(std::uint64_t position) const {
    check(position, "position");
    return size_ <= table_size ? table_[position] : forward(position);
  }

  /// Where an index stands: `position_of(p(i)) == i`. O(size) up to 256, else as a look-up.
  /// @throws IndexError where index >= size()
  std::uint64_t position_of(std::uint64_t index) const {
    check(index, "index");
    if (size_ > table_size) return backward(index);
    std::uint64_t position = 0;
    while (table_[position] != index) ++position;
    return position;
  }

  /// The indices at positions first, first + 1, ..., one for each element of `out`.
  /// @throws IndexError where a position is not below size()
  void copy(std::uint64_t first, std::span<std::uint64_t> out) const {
    if (out.empty()) return;
    check(first, "position");
    if (out.size() > size_ - first) check(size_, "position");
    if (size_ <= table_size) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = table_[first + i];
    } else {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = forward(first + i);
    }
  }

 private:
  struct Round {
    std::uint64_t multiplier, addend;
    std::uint64_t operator()(std::uint64_t x, int bits) const noexcept {
      return (x * multiplier + addend) >> (64 - bits);
    }
  };

  void check(std::uint64_t at, const char* what) const {
    if (at >= size_)
      throw IndexError(fmt::format("IndexPermutation: {} {} of {}", what, at, size_),
                       "positions and indices run from 0 to size - 1");
  }

  void shuffle_table(CounterRandom& random) noexcept {
    ::new (&table_) std::array<std::uint8_t, table_size>;
    for (std::size_t i = 0; i < size_; ++i) table_[i] = static_cast<std::uint8_t>(i);
    for (std::size_t i = size_; i > 1; --i) std::swap(table_[i - 1], table_[random.below(i)]);
  }

  std::uint64_t low_mask() const noexcept { return (std::uint64_t{1} << low_bits_) - 1; }

  std::uint64_t forward(std::uint64_t x) const noexcept {
    do {
      std::uint64_t low = x & low_mask(), high = x >> low_bits_;
      for (std::size_t r = 0; r < rounds; r += 2) {
        high ^= rounds_[r](low, high_bits_);
        low ^= rounds_[r + 1](high, low_bits_);
      }
      x = high << low_bits_ | low;
    } while (x >= size_);
    return x;
  }

  std::uint64_t backward(std::uint64_t x) const noexcept {
    do {
      std::uint64_t low = x & low_mask(), high = x >> low_bits_;
      for (std::size_t r = rounds; r > 0; r -= 2) {
        low ^= rounds_[r - 1](high, low_bits_);
        high ^= rounds_[r - 2](low, high_bits_);
      }
      x = high << low_bits_ | low;
    } while (x >= size_);
    return x;
  }

  std::uint64_t size_;
  int low_bits_ = 0, high_bits_ = 0;
  union {
    std::array<Round, rounds> rounds_;
    std::array<std::uint8_t, table_size> table_;
  };
};

}  // namespace v0
}  // namespace loadax
