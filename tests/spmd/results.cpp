// What a step returns: several results, each under a spec of its own.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <loadax/placement/global_to_host_array.hpp>
#include <loadax/spmd/shard_map.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/meshes.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::mesh_of;
using loadax_test::message_of;

namespace {

template <template <class> class Leaf>
struct Pair {
  Leaf<float> rows;
  Leaf<std::int32_t> total;
};

/// This device's number along an axis, as an array of one element.
template <class T>
lx::HostArray<T> index(lx::DeviceContext& ctx, const char* axis) {
  return {{1}, {static_cast<T>(ctx.axis_index(axis))}};
}

}  // namespace

TEST_CASE("several results lie as the spec of each says", "[spmd]") {
  const auto mesh = mesh_of({2, 3}, {"a", "b"});
  const auto step =
      lx::shard_map(mesh, std::tuple<>(), std::tuple{lx::P(), lx::P("a"), lx::P("b")},
                    [](lx::DeviceContext& ctx) {
                      return std::tuple{ctx.psum(1, lx::axes("a", "b")), index<float>(ctx, "a"),
                                        index<std::int64_t>(ctx, "b")};
                    });
  const auto [count, along_a, along_b] = step();
  static_assert(std::is_same_v<decltype(count), const int>);
  CHECK(count == 6);
  CHECK(lx::global_to_host_array(along_a) == lx::HostArray<float>({2}, {0, 1}));
  CHECK(lx::global_to_host_array(along_b) == lx::HostArray<std::int64_t>({3}, {0, 1, 2}));
}

TEST_CASE("one spec may serve several results, numbers and arrays", "[spmd]") {
  const auto mesh = mesh_of({4}, {"x"});
  const auto [flag, loss, array] =
      lx::shard_map(mesh, std::tuple<>(), lx::P(), [](lx::DeviceContext& ctx) {
        return std::tuple{true, ctx.pmean(static_cast<double>(ctx.device().id), "x"),
                          lx::HostArray<float>({2}, {1, 2})};
      })();
  CHECK(flag);
  CHECK(loss == 1.5);
  CHECK(lx::global_to_host_array(array) == lx::HostArray<float>({2}, {1, 2}));
}

TEST_CASE("a result may be a structure with a structure of specs, or a tuple again", "[spmd]") {
  const auto mesh = mesh_of({4}, {"x"});
  const Pair<lx::SpecOf> specs{.rows = lx::P("x"), .total = lx::P()};
  const auto [pair, inner, named] = lx::shard_map(
      mesh, std::tuple<>(), std::tuple{specs, std::tuple{lx::P("x"), lx::P()}, lx::P("x")},
      [](lx::DeviceContext& ctx) {
        return std::tuple{
            Pair<lx::HostArray>{.rows = index<float>(ctx, "x"),
                                .total = lx::HostArray<std::int32_t>({1}, {7})},
            std::tuple{index<float>(ctx, "x"), 2.0f},
            std::map<std::string, lx::HostArray<float>>{{"i", index<float>(ctx, "x")}}};
      })();
  const lx::HostArray<float> indices({4}, {0, 1, 2, 3});
  CHECK(lx::global_to_host_array(pair.rows) == indices);
  CHECK(lx::global_to_host_array(pair.total) == lx::HostArray<std::int32_t>({1}, {7}));
  CHECK(lx::global_to_host_array(std::get<0>(inner)) == indices);
  CHECK(std::get<1>(inner) == 2.0f);
  CHECK(lx::global_to_host_array(named.at("i")) == indices);
}

TEST_CASE("a tuple of one result is a tuple of one", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  const auto result = lx::shard_map(mesh, std::tuple<>(), std::tuple{lx::P()},
                                    [](lx::DeviceContext&) { return std::tuple{5}; })();
  static_assert(std::is_same_v<decltype(result), const std::tuple<int>>);
  CHECK(std::get<0>(result) == 5);
}

TEST_CASE("a result that makes no array is an error that says which", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  const auto failing = [&](const auto& specs, auto code, lx::ShardMapOptions options = {}) {
    return message_of<lx::ArgumentError>(
        [&] { lx::shard_map(mesh, std::tuple<>(), specs, code, options)(); });
  };
  const auto number_and_array = [](lx::DeviceContext& ctx) {
    return std::tuple{ctx.device().id, index<float>(ctx, "x")};
  };
  CHECK(contains(failing(lx::P(), number_and_array),
                 {"result 0: ", "differs on devices 0 and 1", "psum", "hint:"}));
  CHECK(contains(failing(std::tuple{lx::P("x"), lx::P("x")}, number_and_array),
                 {"result 0: ", "out_spec P(x)", "hint:"}));
  const auto two_arrays = [](lx::DeviceContext& ctx) {
    return std::tuple{1, std::vector{index<float>(ctx, "x")}};
  };
  CHECK(contains(failing(std::tuple{lx::P(), lx::P()}, two_arrays, {.check_replicas = true}),
                 {"result 1: ", "[0]", "differs on devices 0 and 1"}));
  CHECK(contains(failing(std::tuple{lx::P(), lx::P(lx::none, "x")}, two_arrays),
                 {"result 1: ", "shape [1]", "hint:"}));
}
