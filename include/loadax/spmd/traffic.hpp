// How much the collectives of a step moved.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace loadax {
inline namespace v0 {

enum class Collective : std::uint8_t {
  psum,
  pmax,
  pmin,
  all_gather,
  psum_scatter,
  all_to_all,
  ppermute,
  pbroadcast
};

inline constexpr std::size_t collective_count = 8;

constexpr std::string_view name(Collective collective) noexcept {
  constexpr std::string_view names[collective_count] = {
      "psum", "pmax", "pmin", "all_gather", "psum_scatter", "all_to_all", "ppermute", "pbroadcast"};
  return names[static_cast<std::size_t>(collective)];
}

/// What the devices of this process read from other devices, by collective. A pmean counts as a
/// psum.
class Traffic {
 public:
  struct Count {
    /// Calls, one for each device.
    std::uint64_t calls = 0;
    /// Bytes read from the memory of other devices.
    std::uint64_t bytes = 0;
    bool operator==(const Count&) const = default;
  };

  Count& operator[](Collective collective) noexcept {
    return counts_[static_cast<std::size_t>(collective)];
  }
  const Count& operator[](Collective collective) const noexcept {
    return counts_[static_cast<std::size_t>(collective)];
  }
  Traffic& operator+=(const Traffic& other) noexcept {
    for (std::size_t i = 0; i < collective_count; ++i) {
      counts_[i].calls += other.counts_[i].calls;
      counts_[i].bytes += other.counts_[i].bytes;
    }
    return *this;
  }
  bool operator==(const Traffic&) const = default;

 private:
  std::array<Count, collective_count> counts_{};
};

}  // namespace v0
}  // namespace loadax
