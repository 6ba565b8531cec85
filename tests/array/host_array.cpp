#include <array>
#include <complex>
#include <cstdint>
#include <list>
#include <type_traits>
#include <utility>
#include <vector>

#include <loadax/array/host_array.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

TEST_CASE("an array of a shape is zero", "[array]") {
  const lx::HostArray<float> a({2, 3});
  CHECK(a.shape() == lx::Shape{2, 3});
  CHECK(a.rank() == 2);
  CHECK(a.size() == 6);
  for (const float v : a.values()) CHECK(v == 0.0f);
}

TEST_CASE("values stand row by row", "[array]") {
  const lx::HostArray<int> a({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(a.values()[0] == 1);
  CHECK(a.data()[1 * 3 + 2] == 6);
  CHECK(a == lx::HostArray<int>({2, 3}, std::vector<int>{1, 2, 3, 4, 5, 6}));
  CHECK(a == lx::HostArray<int>({2, 3}, std::list<int>{1, 2, 3, 4, 5, 6}));
  CHECK_FALSE(a == lx::HostArray<int>({3, 2}, {1, 2, 3, 4, 5, 6}));
  CHECK_FALSE(a == lx::HostArray<int>({2, 3}, {1, 2, 3, 4, 5, 7}));
}

TEST_CASE("values are taken from ranges whose every value the elements can hold", "[array]") {
  using Shape = lx::Shape;
  CHECK(lx::HostArray<std::int64_t>({2}, std::vector<std::int32_t>{1, -2}) ==
        lx::HostArray<std::int64_t>({2}, {1, -2}));
  CHECK(lx::HostArray<double>({2}, std::vector<float>{1.5f, 2.0f}) ==
        lx::HostArray<double>({2}, {1.5, 2}));
  CHECK(lx::HostArray<float>({2}, {1, 2}).values()[1] == 2.0f);
  static_assert(!std::is_constructible_v<lx::HostArray<int>, Shape, std::vector<double>>);
  static_assert(!std::is_constructible_v<lx::HostArray<float>, Shape, std::vector<double>>);
  static_assert(!std::is_constructible_v<lx::HostArray<float>, Shape, std::vector<int>>);
  static_assert(!std::is_constructible_v<lx::HostArray<std::uint8_t>, Shape, std::vector<int>>);
  static_assert(!std::is_constructible_v<lx::HostArray<std::complex<float>>, Shape,
                                         std::vector<std::complex<double>>>);
  static_assert(!std::is_constructible_v<lx::HostArray<float>, const char(&)[3]>);
  static_assert(!std::is_constructible_v<lx::HostArray<float>, std::size_t>);
}

TEST_CASE("an array of bool has real elements", "[array]") {
  lx::HostArray<bool> a({4}, std::vector<bool>{true, false, true, true});
  CHECK(a.values().size_bytes() == 4);
  a.values()[1] = true;
  CHECK(a.values()[1]);
  bool* raw = a.data();
  CHECK(raw[0]);
}

TEST_CASE("scalars and arrays without elements are arrays too", "[array]") {
  const lx::HostArray<double> scalar(lx::Shape{}, {7.0});
  CHECK(scalar.rank() == 0);
  CHECK(scalar.size() == 1);
  const lx::HostArray<double> none({3, 0, 2});
  CHECK(none.size() == 0);
  CHECK(none.values().empty());
  const lx::HostArray<double> fresh;
  CHECK(fresh.shape() == lx::Shape{0});
}

TEST_CASE("memory is aligned to a cache line", "[array]") {
  for (std::size_t n = 1; n < 40; ++n) {
    const lx::HostArray<std::uint8_t> a({n});
    CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % lx::array_alignment == 0);
  }
}

TEST_CASE("a copy is independent, a moved-from array is empty", "[array]") {
  lx::HostArray<int> a({2}, {1, 2});
  lx::HostArray<int> b = a;
  b.values()[0] = 9;
  CHECK(a.values()[0] == 1);
  const int* memory = a.data();
  const lx::HostArray<int> c = std::move(a);
  CHECK(c.data() == memory);
  CHECK(a.shape() == lx::Shape{0});  // NOLINT(bugprone-use-after-move)
  CHECK(a.size() == 0);
  a = c;
  CHECK(a == c);
  a = *&a;
  CHECK(a == c);
}

TEST_CASE("elements may be structs and complex numbers", "[array]") {
  struct Pixel {
    std::uint8_t r, g, b;
  };
  lx::HostArray<Pixel> image({2, 2});
  image.values()[3] = {1, 2, 3};
  CHECK(image.values()[3].b == 3);
  const lx::HostArray<std::complex<float>> z({1}, {{1.0f, 2.0f}});
  CHECK(z.values()[0].imag() == 2.0f);
}

TEST_CASE("a wrong number of values is an error that names both numbers", "[array]") {
  const auto text =
      message_of<lx::ArgumentError>([] { lx::HostArray<int>({2, 3}, {1, 2, 3, 4, 5}); });
  CHECK(contains(text, {"5 values", "[2, 3]", "holds 6", "hint:"}));
}

TEST_CASE("a shape whose size overflows is an error", "[array]") {
  const std::size_t big = std::size_t{1} << 33;
  CHECK(contains(message_of<lx::ArgumentError>([&] { lx::HostArray<float>({big, big}); }),
                 {"[8589934592, 8589934592]", "2^64 elements"}));
  CHECK(contains(message_of<lx::ArgumentError>([&] { lx::HostArray<double>({big, big / 8}); }),
                 {"8-byte elements", "2^64 bytes"}));
  CHECK(lx::HostArray<float>({big, 0, big}).size() == 0);
}

TEST_CASE("more than eight dimensions are refused", "[array]") {
  CHECK(contains(
      message_of<lx::NotSupportedError>([] { lx::HostArray<int>({1, 1, 1, 1, 1, 1, 1, 1, 1}); }),
      {"9 values", "at most 8"}));
}

TEST_CASE("values that do not fill their shape are refused before memory is asked for", "[array]") {
  const std::size_t huge = std::size_t{1} << 60;
  CHECK(contains(message_of<lx::ArgumentError>([&] { lx::HostArray<float>({huge}, {1.0f}); }),
                 {"HostArray: 1 values for shape [1152921504606846976]", "hint:"}));
  CHECK(contains(message_of<lx::ArgumentError>([] { lx::HostArray<int>({0, 3}, {7}); }),
                 {"1 values for shape [0, 3], which holds 0", "hint:"}));
}

TEST_CASE("an array that was moved from is empty", "[array]") {
  lx::HostArray<int> array({2}, {1, 2});
  const auto moved = std::move(array);
  CHECK(array.shape() == lx::Shape{0});
  CHECK(array.values().empty());
  CHECK(moved.size() == 2);
}
