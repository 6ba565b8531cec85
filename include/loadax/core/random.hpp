// Counter-based random numbers: the same bits on every standard library, machine and thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace loadax {
inline namespace v0 {

/// Philox4x64-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
/// SC 2011; the same function as NumPy's `Philox`): 256 random bits from a key and a counter.
/// @complexity O(1), no state
constexpr std::array<std::uint64_t, 4> philox(std::array<std::uint64_t, 2> key,
                                              std::array<std::uint64_t, 4> counter) noexcept {
  __extension__ using Wide = unsigned __int128;
  for (int round = 0; round < 10; ++round) {
    const Wide a = Wide{0xD2E7470EE14C6C93} * counter[0];
    const Wide b = Wide{0xCA5A826395121157} * counter[2];
    counter = {
        static_cast<std::uint64_t>(b >> 64) ^ counter[1] ^ key[0], static_cast<std::uint64_t>(b),
        static_cast<std::uint64_t>(a >> 64) ^ counter[3] ^ key[1], static_cast<std::uint64_t>(a)};
    key[0] += 0x9E3779B97F4A7C15;
    key[1] += 0xBB67AE8584CAA73B;
  }
  return counter;
}

/// What a sequence of random numbers is for. Different purposes never share bits.
enum class RandomStream : std::uint64_t { user = 0, permutation = 1, record = 2 };

/// A sequence of random numbers that depends on (seed, stream, epoch, index) and on nothing else.
/// Models std::uniform_random_bit_generator. Small, copyable, O(1) to make.
class CounterRandom {
 public:
  using result_type = std::uint64_t;

  constexpr explicit CounterRandom(std::uint64_t seed, RandomStream stream = RandomStream::user,
                                   std::uint64_t epoch = 0, std::uint64_t index = 0) noexcept
      : key_{seed, static_cast<std::uint64_t>(stream)}, counter_{0, index, epoch, 0} {}

  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return std::numeric_limits<result_type>::max(); }

  /// 64 random bits.
  constexpr result_type operator()() noexcept {
    if (used_ == block_.size()) {
      block_ = philox(key_, counter_);
      ++counter_[0];
      used_ = 0;
    }
    return block_[used_++];
  }

  /// An integer in [0, bound), each equally likely; 0 for bound 0. (Lemire: "Fast random integer
  /// generation in an interval", 2019.)
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    __extension__ using Wide = unsigned __int128;
    if (bound == 0) return 0;
    Wide product = Wide{(*this)()} * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t threshold = (0 - bound) % bound;
      while (static_cast<std::uint64_t>(product) < threshold) product = Wide{(*this)()} * bound;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  /// A double in [0, 1), a multiple of 2^-53.
  constexpr double uniform() noexcept { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

 private:
  std::array<std::uint64_t, 2> key_;
  std::array<std::uint64_t, 4> counter_;
  std::array<std::uint64_t, 4> block_{};
  std::size_t used_ = 4;
};

}  // namespace v0
}  // namespace loadax
