#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>

#include <Eigen/Core>

#include <loadax/core/float16.hpp>

#include "support/catch.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

namespace lx = loadax;

namespace {

/// Eigen's numbers of the same 16 bits.
template <class T>
using reference_t =
    std::conditional_t<std::is_same_v<T, lx::float16_t>, Eigen::half, Eigen::bfloat16>;

template <class T>
reference_t<T> reference_of(std::uint16_t bits) {
  if constexpr (std::is_same_v<T, lx::float16_t>)
    return Eigen::half_impl::raw_uint16_to_half(bits);
  else
    return Eigen::bfloat16_impl::raw_uint16_to_bfloat16(bits);
}

template <class T>
void check_rounding(float value) {
  const auto ours = T(value);
  const auto theirs = static_cast<reference_t<T>>(value);
  if (std::isnan(value)) {
    REQUIRE(std::isnan(static_cast<float>(ours)));
  } else if (ours.bits() != Eigen::numext::bit_cast<std::uint16_t>(theirs)) {
    FAIL(value << " is rounded to " << ours << ", by Eigen to " << static_cast<float>(theirs));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("every 16-bit number has Eigen's value, and is rounded to itself", "[core]",
                   lx::float16_t, lx::bfloat16_t) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto ours = TestType::from_bits(static_cast<std::uint16_t>(bits));
    const float value = ours,
                reference =
                    static_cast<float>(reference_of<TestType>(static_cast<std::uint16_t>(bits)));
    if (std::isnan(reference)) {
      REQUIRE(std::isnan(value));
      REQUIRE(std::isnan(static_cast<float>(TestType(value))));
      REQUIRE(std::signbit(value) == std::signbit(static_cast<float>(TestType(value))));
    } else {
      REQUIRE(std::bit_cast<std::uint32_t>(value) == std::bit_cast<std::uint32_t>(reference));
      REQUIRE(TestType(value).bits() == bits);
    }
  }
}

TEMPLATE_TEST_CASE("floats are rounded to nearest, ties to even, as by Eigen", "[core]",
                   lx::float16_t, lx::bfloat16_t) {
  const auto seed = loadax_test::seed();
  INFO("seed " << seed);
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  for (std::size_t i = 0; i < loadax_test::scaled(200000); ++i)
    check_rounding<TestType>(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  // Around every 16-bit number and halfway to the next one.
  for (std::uint32_t bits = 0; bits < 0xffff; ++bits) {
    const float a = TestType::from_bits(static_cast<std::uint16_t>(bits)),
                b = TestType::from_bits(static_cast<std::uint16_t>(bits + 1));
    const float middle = a / 2 + b / 2;
    for (const float value :
         {a, middle, std::nextafter(a, b), std::nextafter(middle, a), std::nextafter(middle, b)})
      check_rounding<TestType>(value);
  }
  const float most = std::numeric_limits<float>::max();
  for (const float value :
       {0.0f, -0.0f, most, -most, std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::quiet_NaN()})
    check_rounding<TestType>(value);
}

TEMPLATE_TEST_CASE("doubles are rounded once", "[core]", lx::float16_t, lx::bfloat16_t) {
  // Just above halfway between 1 and the next number: as a float it would be the tie, and go to 1.
  const auto next = TestType::from_bits(static_cast<std::uint16_t>(TestType(1.0f).bits() + 1));
  const double tie = 0.5 + static_cast<double>(next) / 2;
  CHECK(TestType(tie).bits() == TestType(1.0f).bits());
  CHECK(TestType(tie + 0x1p-40).bits() == next.bits());
  CHECK(TestType(tie - 0x1p-40).bits() == TestType(1.0f).bits());
  CHECK(TestType(-tie - 0x1p-40).bits() == TestType(-static_cast<float>(next)).bits());
  CHECK(std::isinf(static_cast<float>(TestType(1e300))));
  CHECK(std::isnan(static_cast<float>(TestType(std::nan("")))));
}

TEST_CASE("16-bit numbers compute and compare as floats, at compile time too", "[core]") {
  static_assert(lx::float16_t(65504.0f) == 65504.0f);
  static_assert(lx::float16_t(65520.0f) == std::numeric_limits<float>::infinity());
  static_assert(lx::float16_t(0x1p-24f).bits() == 1 && lx::float16_t(0x1p-26f).bits() == 0);
  static_assert(lx::bfloat16_t(3) + lx::bfloat16_t(0.5) == 3.5f);
  static_assert(lx::bfloat16_t() == 0.0f);
  static_assert(sizeof(lx::bfloat16_t) == 2 && std::is_trivially_copyable_v<lx::bfloat16_t>);
  static_assert(!std::is_convertible_v<float, lx::float16_t>);
  static_assert(!std::is_constructible_v<lx::float16_t, lx::bfloat16_t> ||
                lx::float16_t(lx::bfloat16_t(1.5f)) == 1.5f);
  CHECK(lx::float16_t(1.0f) < lx::float16_t(2.0f));
}
