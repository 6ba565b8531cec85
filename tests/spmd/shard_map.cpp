#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <loadax/placement/global_to_host_array.hpp>
#include <loadax/placement/host_to_global_device_array.hpp>
#include <loadax/spmd/shard_map.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/meshes.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::counting;
using loadax_test::mesh_of;
using loadax_test::message_of;

namespace {

template <template <class> class Leaf>
struct Params {
  Leaf<float> w, b;
};

Params<lx::HostArray> host_params() { return {counting({8, 2}), counting({3})}; }
Params<lx::SpecOf> param_specs() { return {.w = lx::P("model"), .b = lx::P()}; }

}  // namespace

TEST_CASE("each device gets its own shards", "[spmd]") {
  const auto mesh = mesh_of({2, 2}, {"data", "model"});
  lx::MeshScope scope{mesh};
  const auto x = lx::host_to_global_device_array(counting({4, 2}), lx::P("data", "model"));
  const auto doubled = lx::shard_map(mesh, lx::P("data", "model"), lx::P("data", "model"),
                                     [](lx::DeviceContext& ctx, lx::ConstView<float> v) {
                                       auto result = ctx.allocate<float>(v.shape());
                                       for (std::size_t i = 0; i < v.size(); ++i)
                                         result.values()[i] = 2 * v.values()[i];
                                       return result;
                                     })(x);
  auto expected = counting({4, 2});
  for (auto& v : expected.values()) v *= 2;
  CHECK(lx::global_to_host_array(doubled) == expected);
  CHECK(doubled.sharding() == x.sharding());
}

TEST_CASE("the devices run at the same time, each in its own thread", "[spmd]") {
  const auto mesh = mesh_of({6}, {"x"});
  std::atomic<int> here{0};
  lx::shard_map(mesh, std::tuple<>(), lx::P(), [&](lx::DeviceContext&) {
    ++here;
    while (here.load() < 6) std::this_thread::yield();
  })();
  CHECK(here == 6);
}

TEST_CASE("an argument that lies otherwise is moved, one that lies so is not", "[spmd]") {
  const auto mesh = mesh_of({4}, {"x"});
  lx::MeshScope scope{mesh};
  const auto step =
      lx::shard_map(mesh, lx::P("x"), lx::P("x"), [](lx::DeviceContext&, lx::ConstView<float> v) {
        return lx::HostArray<std::uint64_t>({1}, {reinterpret_cast<std::uintptr_t>(v.data())});
      });
  const auto split = lx::host_to_global_device_array(counting({8}), lx::P("x"));
  const auto whole = lx::host_to_global_device_array(counting({8}), lx::P());
  const auto where = lx::global_to_host_array(step(split));
  for (std::size_t k = 0; k < 4; ++k)
    CHECK(where.values()[k] ==
          reinterpret_cast<std::uintptr_t>(split.addressable_shards()[k].data));
  const auto sum =
      lx::shard_map(mesh, lx::P("x"), lx::P(), [](lx::DeviceContext& ctx, lx::ConstView<float> v) {
        return ctx.psum(v.values()[0] + v.values()[1], "x");
      });
  CHECK(sum(split) == 28);
  CHECK(sum(whole) == 28);
}

TEST_CASE("structures arrive with views and return as arrays", "[spmd]") {
  const auto mesh = mesh_of({4}, {"model"});
  lx::MeshScope scope{mesh};
  const auto params = lx::host_to_global_device_array(host_params(), param_specs());
  const auto step = lx::shard_map(mesh, std::tuple{param_specs()}, param_specs(),
                                  [](lx::DeviceContext& ctx, const Params<lx::ConstView>& p) {
                                    Params<lx::View> result{ctx.allocate<float>(p.w.shape()),
                                                            ctx.allocate<float>(p.b.shape())};
                                    std::ranges::copy(p.w.values(), result.w.values().begin());
                                    std::ranges::fill(result.b.values(), 7.0f);
                                    return result;
                                  });
  const auto result = step(params);
  static_assert(std::is_same_v<decltype(result), const Params<lx::Array>>);
  CHECK(lx::global_to_host_array(result.w) == host_params().w);
  CHECK(lx::global_to_host_array(result.b) == lx::HostArray<float>({3}, {7, 7, 7}));
  CHECK(result.w.sharding().spec() == lx::P("model"));
}

TEST_CASE("the spec of one argument may stand bare, in braces, or be a structure", "[spmd]") {
  const auto mesh = mesh_of({4}, {"model"});
  lx::MeshScope scope{mesh};
  const auto rows = [](lx::DeviceContext& ctx, const auto& p) {
    return ctx.psum(static_cast<int>(p.w.shape()[0]), "model");
  };
  const auto params = lx::host_to_global_device_array(host_params(), param_specs());
  CHECK(lx::shard_map(mesh, param_specs(), lx::P(), rows)(params) == 8);
  CHECK(lx::shard_map(mesh, lx::P(), lx::P(), rows)(params) == 32);
  CHECK(lx::shard_map(mesh, {lx::P()}, lx::P(), rows)(params) == 32);
  CHECK(lx::shard_map(mesh, std::tuple{param_specs()}, lx::P(), rows)(params) == 8);
}

TEST_CASE("maps and vectors of arrays may be arguments and results", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  lx::MeshScope scope{mesh};
  std::map<std::string, lx::HostArray<float>> host{{"a", counting({2})}, {"b", counting({4})}};
  const auto arrays = lx::host_to_global_device_array(host, lx::P("x"));
  const auto same = lx::shard_map(mesh, lx::P("x"), lx::P("x"),
                                  [](lx::DeviceContext&, const auto& m) { return m; })(arrays);
  CHECK(lx::global_to_host_array(same) == host);
  const auto layers = lx::shard_map(mesh, std::tuple<>(), lx::P("x"), [](lx::DeviceContext& ctx) {
    std::vector<lx::HostArray<int>> result;
    for (int i = 0; i < 3; ++i)
      result.push_back(lx::HostArray<int>({1}, {10 * i + ctx.device().id}));
    return result;
  })();
  REQUIRE(layers.size() == 3);
  CHECK(lx::global_to_host_array(layers[2]) == lx::HostArray<int>({2}, {20, 21}));
}

TEST_CASE("inout changes the caller's array in place", "[spmd]") {
  const auto mesh = mesh_of({4}, {"model"});
  lx::MeshScope scope{mesh};
  auto params = lx::host_to_global_device_array(host_params(), param_specs());
  const auto* memory = params.w.addressable_shards()[1].data;
  const auto step = lx::shard_map(mesh, std::tuple{param_specs()}, lx::P(),
                                  [](lx::DeviceContext&, const Params<lx::View>& p) {
                                    for (float& v : p.w.values()) v += 1;
                                  });
  step(lx::inout(params));
  step(lx::inout(params));
  CHECK(params.w.addressable_shards()[1].data == memory);
  auto expected = host_params().w;
  for (auto& v : expected.values()) v += 2;
  CHECK(lx::global_to_host_array(params.w) == expected);
}

TEST_CASE("inout leaves other handles' contents as they were", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  lx::MeshScope scope{mesh};
  auto x = lx::host_to_global_device_array(counting({4}), lx::P("x"));
  const auto before = x;
  const auto view = x.with_sharding(lx::NamedSharding(mesh, lx::P("x")));
  const auto step = lx::shard_map(mesh, {lx::P("x"), lx::P("x")}, lx::P(),
                                  [](lx::DeviceContext&, const auto& a, const auto& b) {
                                    for (std::size_t i = 0; i < a.size(); ++i)
                                      a.values()[i] = 10 * b.values()[i] + a.values()[i];
                                  });
  step(lx::inout(x), x);
  CHECK(lx::global_to_host_array(before) == counting({4}));
  CHECK(lx::global_to_host_array(view) == counting({4}));
  CHECK(lx::global_to_host_array(x) == lx::HostArray<float>({4}, {0, 11, 22, 33}));
}

TEST_CASE("inout misuse is an error", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  lx::MeshScope scope{mesh};
  auto x = lx::host_to_global_device_array(counting({4}), lx::P());
  const auto step = lx::shard_map(mesh, {lx::P("x"), lx::P("x")}, lx::P(),
                                  [](lx::DeviceContext&, const auto&, const auto&) {});
  CHECK(contains(message_of<lx::ArgumentError>([&] { step(x, lx::inout(x)); }),
                 {"argument 1", "lies as P()", "in_spec is P(x)", "hint:"}));
  auto y = lx::host_to_global_device_array(counting({4}), lx::P("x"));
  CHECK(contains(message_of<lx::ArgumentError>([&] { step(lx::inout(y), lx::inout(y)); }),
                 {"argument 1", "inout twice", "hint:"}));
  CHECK_NOTHROW(step(lx::inout(y), y));
}

TEST_CASE("an argument that does not fit its spec names the argument and the leaf", "[spmd]") {
  const auto mesh = mesh_of({4}, {"x"});
  lx::MeshScope scope{mesh};
  const auto params = lx::host_to_global_device_array(host_params(), lx::P());
  const auto step =
      lx::shard_map(mesh, lx::P("x"), lx::P(), [](lx::DeviceContext&, const auto&) {});
  const auto message = message_of<lx::ArgumentError>([&] { step(params); });
  CHECK(message.starts_with("argument 0: leaf 'b'"));
  CHECK(contains(message, {"dimension 0", "3", "hint:"}));
}

TEST_CASE("an unknown axis in a spec is an error where the step is made", "[spmd]") {
  const auto mesh = mesh_of({4}, {"x"});
  const auto code = [](lx::DeviceContext&, const auto&) {};
  CHECK(contains(
      message_of<lx::ArgumentError>([&] { lx::shard_map(mesh, lx::P("y"), lx::P(), code); }),
      {"shard_map: in_spec 0: no mesh axis 'y'", "x"}));
  CHECK(contains(
      message_of<lx::ArgumentError>([&] { lx::shard_map(mesh, lx::P("x"), lx::P("z"), code); }),
      {"shard_map: out_spec: no mesh axis 'z'", "x"}));
  CHECK(contains(message_of<lx::ArgumentError>([&] {
                   lx::shard_map(mesh, std::tuple{Params<lx::SpecOf>{lx::P("x"), lx::P("w")}},
                                 lx::P(), code);
                 }),
                 {"leaf 'b'", "w", "x"}));
}

TEST_CASE("arrays of another runtime are refused", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  lx::Array<float> elsewhere;
  {
    lx::MeshScope scope{mesh, std::make_shared<lx::Runtime>()};
    elsewhere = lx::host_to_global_device_array(counting({2}));
  }
  const auto step =
      lx::shard_map(mesh, lx::P("x"), lx::P(), [](lx::DeviceContext&, const auto&) {});
  CHECK(contains(message_of<lx::StateError>([&] { step(elsewhere); }),
                 {"argument 0", "another runtime", "hint:"}));
}

TEST_CASE("results that make no array are errors", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  const auto run = [&](lx::P out, auto code) {
    return message_of<lx::ArgumentError>([&] { lx::shard_map(mesh, std::tuple<>(), out, code)(); });
  };
  CHECK(contains(run(lx::P("x"), [](lx::DeviceContext&) { return 1.0f; }),
                 {"number", "P(x)", "hint:", "P()"}));
  CHECK(contains(run(lx::P("x"),
                     [](lx::DeviceContext& ctx) {
                       return lx::HostArray<int>({static_cast<std::size_t>(ctx.device().id) + 1});
                     }),
                 {"[1] on device 0", "[2] on device 1", "hint:"}));
  CHECK(
      contains(run(lx::P("x"), [](lx::DeviceContext&) { return lx::HostArray<int>(lx::Shape{}); }),
               {"shape []", "P(x)", "hint:"}));
  CHECK(contains(run(lx::P("x"),
                     [](lx::DeviceContext& ctx) {
                       return std::vector<lx::HostArray<int>>(
                           static_cast<std::size_t>(2 - ctx.device().id), lx::HostArray<int>({1}));
                     }),
                 {"different form", "hint:"}));
}

TEST_CASE("a step that was moved from is still there", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  auto step = lx::shard_map(mesh, std::tuple<>(), lx::P(), [](lx::DeviceContext&) { return 3; });
  const auto moved = std::move(step);
  CHECK(moved() == 3);
  CHECK(step() == 3);
}

TEST_CASE("a step may be called from several threads", "[spmd]") {
  const auto mesh = mesh_of({3}, {"x"});
  lx::MeshScope scope{mesh};
  const auto step = lx::shard_map(
      mesh, lx::P("x"), lx::P(),
      [](lx::DeviceContext& ctx, lx::ConstView<float> v) { return ctx.psum(v.values()[0], "x"); });
  const auto x = lx::host_to_global_device_array(counting({3}), lx::P("x"));
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> callers;
    for (int c = 0; c < 4; ++c)
      callers.emplace_back([&] {
        for (int i = 0; i < 50; ++i) wrong += step(x) != 3.0f;
      });
  }
  CHECK(wrong == 0);
}
