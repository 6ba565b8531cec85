// Floating-point numbers of 16 bits, to store: float16 (IEEE 754 binary16) and bfloat16.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace loadax {
inline namespace v0 {

namespace detail {

/// The upper 16 bits of a float.
struct BrainFormat {
  static constexpr std::uint16_t round(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  static constexpr float widen(std::uint16_t bits) noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
struct HalfFormat {
  static constexpr std::uint16_t round(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    return static_cast<std::uint16_t>(sign | round_magnitude(magnitude));
  }
  static constexpr float widen(std::uint16_t bits) noexcept {
    const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 0x1f,
                        fraction = bits & 0x3ff;
    if (exponent == 0) {
      const float value = static_cast<float>(fraction) * 0x1p-24f;
      return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
    }
    const std::uint32_t wide = exponent == 0x1f ? 0xff : exponent + (127 - 15);
    return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
  }

 private:
  static constexpr std::uint32_t infinity = 0x7c00;

  static constexpr std::uint32_t round_magnitude(std::uint32_t bits) noexcept {
    if (bits > 0x7f800000) return infinity | 0x200 | (bits >> 13 & 0x3ff);  // not a number
    if (bits >= 0x477ff000) return infinity;  // from halfway beyond the greatest number on
    const std::uint32_t exponent = bits >> 23;
    if (exponent > 127 - 15) return (bits - ((127u - 15) << 23) + 0xfff + (bits >> 13 & 1)) >> 13;
    // A multiple of 2^-24, or zero.
    const std::uint32_t shift = 126 - exponent;
    if (shift > 25) return 0;
    const std::uint32_t fraction = (bits & 0x7fffff) | 0x800000;
    const std::uint32_t kept = fraction >> shift, half = 1u << (shift - 1),
                        rest = fraction & ((1u << shift) - 1);
    return kept + (rest > half || (rest == half && (kept & 1)) ? 1 : 0);
  }
};

/// The float next to a double towards zero, made odd where it is not exact: rounding it once more
/// to fewer bits gives what rounding the double itself would.
constexpr float round_to_odd(double value) noexcept {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || value != value) return nearest;
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const bool beyond = value < 0 ? nearest < value : nearest > value;
  return std::bit_cast<float>((beyond ? bits - 1 : bits) | 1);
}

/// A number stored in 16 bits. It converts to float without loss, so arithmetic is float's; it is
/// made from float or double explicitly, rounded to nearest, ties to even. Comparisons are float's.
template <class Format>
class Float16 {
 public:
  Float16() = default;
  explicit constexpr Float16(float value) noexcept : bits_(Format::round(value)) {}
  explicit constexpr Float16(double value) noexcept : Float16(round_to_odd(value)) {}
  /// From a small integer: int, or what is promoted to it.
  template <std::integral I>
    requires(sizeof(I) <= sizeof(int))
  explicit constexpr Float16(I value) noexcept : Float16(static_cast<double>(value)) {}

  constexpr operator float() const noexcept { return Format::widen(bits_); }

  /// The number's 16 bits, and the number of 16 bits.
  constexpr std::uint16_t bits() const noexcept { return bits_; }
  static constexpr Float16 from_bits(std::uint16_t bits) noexcept {
    Float16 value;
    value.bits_ = bits;
    return value;
  }

 private:
  std::uint16_t bits_ = 0;
};

template <class>
inline constexpr bool is_float16 = false;
template <class Format>
inline constexpr bool is_float16<Float16<Format>> = true;

}  // namespace detail

/// IEEE 754 binary16: 11 bits of precision, up to 65504.
using float16_t = detail::Float16<detail::HalfFormat>;
/// A float with 8 bits of precision.
using bfloat16_t = detail::Float16<detail::BrainFormat>;

}  // namespace v0
}  // namespace loadax
