#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <loadax/core/log.hpp>
#include <loadax/mesh/infer_mesh_shape.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

TEST_CASE("one -1 becomes what the other sizes leave") {
  CHECK(lx::infer_mesh_shape(lx::MeshShape{-1, 1, 8, 1}, 32) == lx::MeshShape{4, 1, 8, 1});
  CHECK(lx::infer_mesh_shape(lx::MeshShape{-1}, 7) == lx::MeshShape{7});
  CHECK(lx::infer_mesh_shape(lx::MeshShape{2, -1}, 2) == lx::MeshShape{2, 1});
  CHECK(lx::infer_mesh_shape(lx::MeshShape{4, 2}, 8) == lx::MeshShape{4, 2});
  CHECK(lx::infer_mesh_shape(lx::MeshShape<>{4, -1}, 8) == lx::MeshShape<>{4, 2});
}

TEST_CASE("shapes that cannot be inferred are errors with their numbers") {
  auto text_for = [](std::vector<std::int64_t> sizes, std::int64_t devices) {
    return message_of<lx::ArgumentError>(
        [&] { (void)lx::infer_mesh_shape(lx::MeshShape<>(sizes), devices); });
  };
  CHECK(contains(text_for({-1, 3}, 8), {"[-1, 3]", "8 devices", "by 3", "leave 2", "hint: "}));
  CHECK(contains(text_for({-1, -1}, 8), {"mesh shape [-1, -1] has -1 at axes 0 and 1", "hint: "}));
  CHECK(contains(text_for({-1, -2}, 8), {"[-1, -2]", "size -2 at axis 1", "hint: "}));
  CHECK(contains(text_for({-1, 0}, 8), {"mesh shape [-1, 0] has size 0 at axis 1", "hint: "}));
  CHECK(contains(text_for({0, 4}, 8), {"[0, 4]", "size 0 at axis 0", "hint: "}));
  CHECK(
      contains(text_for({4, 3}, 8), {"mesh shape [4, 3] is for 12 devices, not for 8", "hint: "}));
  CHECK(contains(text_for({-1, 4}, 0), {"mesh shape [-1, 4] for 0 devices", "hint: "}));
  CHECK(contains(text_for({-1, 4}, -8), {"mesh shape [-1, 4] for -8 devices", "hint: "}));
  CHECK(contains(text_for({std::int64_t{1} << 33, std::int64_t{1} << 33}, 8),
                 {"8589934592", "more than 2^63", "hint: "}));
  CHECK(contains(text_for({-1, std::int64_t{1} << 33, std::int64_t{1} << 33}, 8),
                 {"8589934592", "more than 2^63", "hint: "}));
}

TEST_CASE("a hybrid shape is inferred on both levels") {
  const lx::HybridMeshShape<2> wanted{{1, 8}, {4, 1}};
  CHECK(lx::infer_mesh_shape(lx::HybridMeshShape{{1, -1}, {-1, 1}},
                             {.num_devices = 32, .num_granules = 4}) == wanted);
  auto text_for = [](lx::HybridMeshShape<> shape, lx::DeviceCounts counts) {
    return message_of<lx::ArgumentError>([&] { (void)lx::infer_mesh_shape(shape, counts); });
  };
  CHECK(contains(text_for({{1, -1}, {4, 1}}, {.num_devices = 10, .num_granules = 4}),
                 {"10 devices on 4 granules", "hint: "}));
  for (const std::int64_t granules : {0, -4})
    CHECK(contains(text_for({{1, -1}, {4, 1}}, {.num_devices = 8, .num_granules = granules}),
                   {"hybrid mesh shape ici [1, -1] x dcn [4, 1]: 8 devices on ",
                    std::to_string(granules) + " granules", "hint: "}));
  CHECK(contains(text_for({{1, -1}, {4, 1}}, {.num_devices = -8, .num_granules = 4}),
                 {"mesh shape [1, -1] for -2 devices", "hint: "}));
  CHECK(contains(text_for({{1, 8}, {4}}, {.num_devices = 32, .num_granules = 4}),
                 {"2 axes in ici and 1 in dcn", "hint: "}));
}

TEST_CASE("a plain shape is split over nodes at its first axis above 1") {
  auto split = [](lx::MeshShape<3> shape) {
    return lx::split_over_granules(shape, {.num_devices = 16, .num_granules = 2});
  };
  CHECK(split({1, 2, 8}) == lx::AnyMeshShape<3>(lx::HybridMeshShape{{1, 1, 8}, {1, 2, 1}}));
  CHECK(split({2, 1, 8}) == lx::AnyMeshShape<3>(lx::HybridMeshShape{{1, 1, 8}, {2, 1, 1}}));
  CHECK(split({4, 1, 4}) == lx::AnyMeshShape<3>(lx::HybridMeshShape{{2, 1, 4}, {2, 1, 1}}));
  CHECK(split({-1, 1, 4}) == lx::AnyMeshShape<3>(lx::HybridMeshShape{{2, 1, 4}, {2, 1, 1}}));
  CHECK(split({1, 1, 16}) == lx::AnyMeshShape<3>(lx::HybridMeshShape{{1, 1, 8}, {1, 1, 2}}));
}

TEST_CASE("on one node a plain shape stays plain") {
  CHECK(lx::split_over_granules(lx::MeshShape{3, -1}, {.num_devices = 12, .num_granules = 1}) ==
        lx::AnyMeshShape<2>{3, 4});
}

TEST_CASE(
    "a first axis that nodes do not divide is an error, or by choice a flat mesh and a warning") {
  const lx::MeshShape shape{3, 4};
  const lx::DeviceCounts counts{.num_devices = 12, .num_granules = 2};
  CHECK(contains(message_of<lx::ArgumentError>([&] { lx::split_over_granules(shape, counts); }),
                 {"[3, 4]", "axis 0 of size 3", "2 granules", "hint: ", "OnIndivisible::flat"}));

  std::vector<std::string> warnings;
  const auto before = lx::set_log_sink([&](lx::LogLevel level, std::string_view text) {
    if (level == lx::LogLevel::warning) warnings.emplace_back(text);
  });
  const auto flat = lx::split_over_granules(shape, counts, lx::OnIndivisible::flat);
  lx::set_log_sink(before);
  CHECK(flat == lx::AnyMeshShape<2>{3, 4});
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], {"[3, 4]", "2 granules", "flat"}));
}

TEST_CASE("splitting over no granules is an error even where a flat mesh is welcome") {
  const auto text = message_of<lx::ArgumentError>([] {
    lx::split_over_granules(lx::MeshShape{4}, {.num_devices = 4, .num_granules = 0},
                            lx::OnIndivisible::flat);
  });
  CHECK(contains(text, {"0 granules", "hint: "}));
}
