#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <loadax/mesh/axis_names.hpp>
#include <loadax/mesh/hybrid_mesh_shape.hpp>
#include <loadax/mesh/mesh_shape.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

TEST_CASE("a mesh shape's rank is the number of its sizes") {
  const lx::MeshShape shape{4, 8};
  static_assert(std::is_same_v<decltype(shape), const lx::MeshShape<2>>);
  const std::size_t nodes = 4;
  static_assert(std::is_same_v<decltype(lx::MeshShape{nodes, 8}), lx::MeshShape<2>>);
  CHECK(lx::MeshShape{nodes, 8} == shape);
  CHECK(shape[1] == 8);
  CHECK(to_string(shape) == "[4, 8]");

  const std::array<std::int64_t, 2> sizes{4, 8};
  CHECK(lx::MeshShape{std::span<const std::int64_t, 2>(sizes)} == shape);
}

TEST_CASE(
    "a shape that was read at run time has a dynamic rank and becomes a static one by check") {
  const lx::MeshShape shape{std::vector<std::int64_t>{4, 8}};
  static_assert(std::is_same_v<decltype(shape), const lx::MeshShape<lx::dynamic_rank>>);
  CHECK(shape.rank() == 2);
  CHECK(lx::MeshShape<2>(shape) == lx::MeshShape{4, 8});
  CHECK(lx::MeshShape<>(lx::MeshShape{4, 8}) == shape);
  const auto text = message_of<lx::ArgumentError>([&] { lx::MeshShape<3>{shape}; });
  CHECK(contains(text, {"[4, 8]", "2 axes", "3 are needed", "hint: "}));
}

TEST_CASE("a size that does not fit is an error, not a wrap") {
  const auto text = message_of<lx::ArgumentError>(
      [] { lx::MeshShape{std::numeric_limits<std::uint64_t>::max(), std::uint64_t{1}}; });
  CHECK(contains(text, {"MeshShape: size 18446744073709551615 does not fit in 64 bits", "hint: "}));
}

TEST_CASE("hybrid mesh shapes are written in several ways") {
  const lx::HybridMeshShape expected{lx::MeshShape{1, 8}, lx::MeshShape{4, 1}};
  static_assert(std::is_same_v<decltype(expected), const lx::HybridMeshShape<2>>);
  CHECK(lx::HybridMeshShape{{1, 8}, {4, 1}} == expected);
  CHECK(lx::HybridMeshShape{.ici_mesh_shape = lx::MeshShape{1, 8},
                            .dcn_mesh_shape = lx::MeshShape{4, 1}} == expected);
  CHECK(lx::HybridMeshShape<2>{.ici_mesh_shape = {1, 8}, .dcn_mesh_shape = {4, 1}} == expected);
  CHECK(lx::HybridMeshShape<>(expected).ici_mesh_shape == lx::MeshShape<>{1, 8});
  CHECK(to_string(expected) == "ici [1, 8] x dcn [4, 1]");
}

TEST_CASE("any mesh shape holds a plain or a hybrid one") {
  const lx::HybridMeshShape hybrid{{1, 8}, {4, 1}};
  const lx::AnyMeshShape<2> a{4, 2}, b = lx::MeshShape{4, 2}, c = hybrid, d{{4, 2}};
  CHECK(a == b);
  CHECK(a == d);
  CHECK_FALSE(a == c);
  CHECK(std::get<1>(c.value()) == hybrid);
  CHECK(c.rank() == 2);
  CHECK(lx::AnyMeshShape<>(c).rank() == 2);
  CHECK(lx::AnyMeshShape<>(a) == lx::AnyMeshShape<>{4, 2});
  CHECK(to_string(a) == "[4, 2]");
  CHECK(to_string(c) == "ici [1, 8] x dcn [4, 1]");
}

TEST_CASE("the device count of a shape is its product, without overflow") {
  CHECK(lx::device_count(lx::MeshShape{4, 2, 3}) == 24);
  CHECK(lx::device_count(lx::MeshShape<>(std::vector<std::int64_t>{})) == 1);
  auto text_for = [](std::vector<std::int64_t> sizes) {
    return message_of<lx::ArgumentError>([&] { (void)lx::device_count(sizes); });
  };
  CHECK(contains(text_for({std::int64_t{1} << 33, std::int64_t{1} << 33}),
                 {"mesh shape [8589934592, 8589934592] has more than 2^63 devices", "hint: "}));
  CHECK(contains(text_for({4, 0}), {"[4, 0]", "size 0 at axis 1", "hint: "}));
  CHECK(contains(text_for({-2, -4}), {"[-2, -4]", "size -2 at axis 0", "hint: "}));
  CHECK(contains(text_for({-1, 4}), {"size -1 at axis 0", "hint: infer_mesh_shape"}));
}

TEST_CASE("a mesh has at most eight axes") {
  const auto text =
      message_of<lx::NotSupportedError>([] { lx::MeshShape<>(std::vector<std::int64_t>(9, 1)); });
  CHECK(contains(text, {"9 values", "at most 8", "hint: "}));
}

TEST_CASE("axis names are given as literals, strings or arrays") {
  const std::string data = "data";
  const lx::AxisNames<2> names{data, "model"};
  CHECK(names.values()[0] == "data");
  CHECK(lx::AxisNames<2>(std::array<std::string, 2>{"data", "model"}) == names);
  CHECK(lx::AxisNames<>(names) == lx::AxisNames<>{"data", "model"});
}

TEST_CASE("empty and repeated axis names are errors") {
  CHECK(contains(message_of<lx::ArgumentError>([] { lx::AxisNames<2>{"data", ""}; }),
                 {"axis 1 of [data, ] has an empty name", "hint: "}));
  CHECK(contains(message_of<lx::ArgumentError>([] { lx::AxisNames<>{"x", "y", "x"}; }),
                 {"axis name 'x' twice in [x, y, x]", "hint: "}));
}
