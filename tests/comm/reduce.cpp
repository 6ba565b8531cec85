#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <loadax/comm/reduce.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

TEST_CASE("contributions are combined element by element", "[comm]") {
  std::vector<float> into{1, 2, 3};
  const std::vector<float> from{4, 1, 0.5f};
  lx::combine(lx::ReduceOp::sum, into.data(), from.data(), 3);
  CHECK(into == std::vector<float>{5, 3, 3.5f});
  lx::combine(lx::ReduceOp::max, into.data(), from.data(), 3);
  CHECK(into == std::vector<float>{5, 3, 3.5f});
  lx::combine(lx::ReduceOp::min, into.data(), from.data(), 3);
  CHECK(into == from);
  lx::combine(lx::ReduceOp::product, into.data(), from.data(), 3);
  CHECK(into == std::vector<float>{16, 1, 0.25f});
}

TEST_CASE("integer sums and products wrap", "[comm]") {
  const auto most = std::numeric_limits<std::int32_t>::max();
  std::int32_t a = most;
  const std::int32_t one = 1;
  lx::combine(lx::ReduceOp::sum, &a, &one, 1);
  CHECK(a == std::numeric_limits<std::int32_t>::min());
  std::uint16_t b = 65535;
  const std::uint16_t c = 65535;
  lx::combine(lx::ReduceOp::product, &b, &c, 1);
  CHECK(b == 1);
  std::int64_t d = std::numeric_limits<std::int64_t>::max();
  const std::int64_t two = 2;
  lx::combine(lx::ReduceOp::product, &d, &two, 1);
  CHECK(d == -2);
}

TEST_CASE("min and max of bool are and, or; its sum is an error", "[comm]") {
  bool a = true;
  const bool b = false;
  CHECK(contains(
      message_of<lx::NotSupportedError>([&] { lx::combine(lx::ReduceOp::sum, &a, &b, 1); }),
      {"no sum of bool elements", "hint:"}));
  lx::combine(lx::ReduceOp::max, &a, &b, 1);
  CHECK(a);
  lx::combine(lx::ReduceOp::min, &a, &b, 1);
  CHECK_FALSE(a);
}

TEST_CASE("complex numbers have sums and products but no order", "[comm]") {
  std::complex<double> a{1, 2};
  const std::complex<double> b{0, 1};
  lx::combine(lx::ReduceOp::product, &a, &b, 1);
  CHECK(a == std::complex<double>{-2, 1});
  CHECK(contains(
      message_of<lx::NotSupportedError>([&] { lx::combine(lx::ReduceOp::max, &a, &b, 1); }),
      {"no max of complex128 elements", "hint:"}));
}

TEST_CASE("the minimum or maximum with NaN is NaN, wherever it stands", "[comm]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto op : {lx::ReduceOp::min, lx::ReduceOp::max})
    for (const auto& [a, b] : {std::pair{nan, 1.0f}, {1.0f, nan}, {nan, nan}}) {
      float into = a;
      lx::combine(op, &into, &b, 1);
      CHECK(std::isnan(into));
    }
}

TEST_CASE("contributions are reduced in order, whatever the type and the count", "[comm]") {
  const std::size_t count = 5000;  // more than a tile
  std::vector<std::vector<double>> given(3, std::vector<double>(count));
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      given[j][i] = std::vector{1e16, 1.0 + static_cast<double>(i), -1e16}[j];
  std::vector<double> out(count), expected(count);
  for (std::size_t i = 0; i < count; ++i) expected[i] = (given[0][i] + given[1][i]) + given[2][i];
  const auto contribution = [&](std::size_t j) -> const void* { return given[j].data(); };
  lx::reduce_in_order(lx::ElementType::float64, lx::ReduceOp::sum, 3, contribution, out.data(),
                      count);
  CHECK(out == expected);
  // The destination may be a contribution.
  lx::reduce_in_order(lx::ElementType::float64, lx::ReduceOp::sum, 3, contribution, given[1].data(),
                      count);
  CHECK(given[1] == expected);
}

TEST_CASE("sums of 16-bit numbers are rounded once", "[comm]") {
  // 2048 + 1 is a tie between 2048 and 2050 that goes to 2048; 2048 + 1 + 1 is 2050.
  const std::vector<lx::float16_t> x{lx::float16_t(2048), lx::float16_t(1), lx::float16_t(1)};
  lx::float16_t sum;
  lx::reduce_in_order<lx::float16_t>(
      lx::ReduceOp::sum, 3, [&](std::size_t j) { return &x[j]; }, &sum, 1);
  CHECK(static_cast<float>(sum) == 2050.0f);
}

TEST_CASE("element types know their names and sizes", "[comm]") {
  CHECK(lx::name(lx::element_type_of<bool>) == "bool");
  CHECK(lx::name(lx::element_type_of<std::int8_t>) == "int8");
  CHECK(lx::name(lx::element_type_of<long>) == "int64");
  CHECK(lx::name(lx::element_type_of<unsigned long long>) == "uint64");
  CHECK(lx::name(lx::element_type_of<double>) == "float64");
  CHECK(lx::element_size(lx::ElementType::complex64) == 8);
  CHECK(lx::element_size(lx::ElementType::uint16) == 2);
  CHECK(lx::name(lx::element_type_of<lx::float16_t>) == "float16");
  CHECK(lx::name(lx::element_type_of<lx::bfloat16_t>) == "bfloat16");
  CHECK(lx::element_size(lx::ElementType::bfloat16) == 2);
}
