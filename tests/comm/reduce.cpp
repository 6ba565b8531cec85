#include <complex>
#include <cstdint>
#include <limits>
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
  lx::combine(lx::ElementType::float32, lx::ReduceOp::max, into.data(), from.data(), 3);
  CHECK(into == std::vector<float>{5, 3, 3.5f});
  lx::combine(lx::ElementType::float32, lx::ReduceOp::min, into.data(), from.data(), 3);
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
      {"no sum of bool", "hint:"}));
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
      {"no max of complex128", "hint:"}));
}

TEST_CASE("element types know their names and sizes", "[comm]") {
  CHECK(lx::name(lx::element_type_of<bool>) == "bool");
  CHECK(lx::name(lx::element_type_of<std::int8_t>) == "int8");
  CHECK(lx::name(lx::element_type_of<long>) == "int64");
  CHECK(lx::name(lx::element_type_of<unsigned long long>) == "uint64");
  CHECK(lx::name(lx::element_type_of<double>) == "float64");
  CHECK(lx::element_size(lx::ElementType::complex64) == 8);
  CHECK(lx::element_size(lx::ElementType::uint16) == 2);
}
