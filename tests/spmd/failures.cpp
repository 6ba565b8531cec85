#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <loadax/placement/host_to_global_device_array.hpp>
#include <loadax/spmd/shard_map.hpp>

#include "spmd/meshes.hpp"
#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::counting;
using loadax_test::mesh_of;
using loadax_test::message_of;

namespace {

struct Odd {
  int device;
};

}  // namespace

TEST_CASE("an exception in one device's code wakes the others and is rethrown as it was",
          "[spmd]") {
  const auto mesh = mesh_of({2, 4}, {"data", "model"});
  bool fail = true;
  const auto step = lx::shard_map(mesh, std::tuple<>(), lx::P(), [&](lx::DeviceContext& ctx) {
    double sum = 0;
    for (int i = 0; i < 20; ++i) {
      if (fail && i == 11 && ctx.device().id == 5) throw Odd{5};
      sum += ctx.psum(1.0, i % 2 == 0 ? "data" : "model");
    }
    return sum;
  });
  for (int round = 0; round < 20; ++round) {
    fail = true;
    try {
      step();
      FAIL("nothing was thrown");
    } catch (const Odd& odd) {
      CHECK(odd.device == 5);
    }
    // The same step works again.
    fail = false;
    CHECK(step() == 10 * 2 + 10 * 4);
  }
}

TEST_CASE("a device that leaves while others wait for it is an error, not a deadlock", "[spmd]") {
  const auto mesh = mesh_of({4}, {"x"});
  for (int round = 0; round < 50; ++round) {
    const auto text = message_of<lx::StateError>([&] {
      lx::shard_map(mesh, std::tuple<>(), lx::P(), [](lx::DeviceContext& ctx) {
        const double first = ctx.psum(1.0, "x");
        return ctx.device().id == 2 ? first : ctx.psum(first, "x");
      })();
    });
    CHECK(contains(text, {"psum: device", "waits for device 2", "has returned", "hint:"}));
  }
}

TEST_CASE("a device that leaves right after a meeting is not missed", "[spmd]") {
  const auto mesh = mesh_of({8}, {"x"});
  const auto step = lx::shard_map(mesh, std::tuple<>(), lx::P(),
                                  [](lx::DeviceContext& ctx) { return ctx.psum(1, "x"); });
  int sum = 0;
  CHECK_NOTHROW([&] {
    for (int round = 0; round < 20000; ++round) sum += step();
  }());
  CHECK(sum == 160000);
}

TEST_CASE("devices that call different collectives are told so", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  const auto failing = [&](auto code) {
    return message_of<lx::ArgumentError>(
        [&] { lx::shard_map(mesh, std::tuple<>(), lx::P(), code)(); });
  };
  const lx::HostArray<float> x({2, 3});
  const lx::ConstView<float> v(x);
  CHECK(contains(failing([&](lx::DeviceContext& ctx) {
                   if (ctx.device().id == 0)
                     ctx.psum(v, "x");
                   else
                     ctx.all_gather(v, "x");
                 }),
                 {"device 0", "device 1", "another collective", "hint:"}));
  CHECK(contains(failing([&](lx::DeviceContext& ctx) {
                   const lx::HostArray<float> y({ctx.device().id == 0 ? 2u : 4u});
                   ctx.psum(lx::ConstView<float>(y), "x");
                 }),
                 {"8 bytes", "16 bytes"}));
  const lx::HostArray<float> transposed({3, 2});
  CHECK(contains(failing([&](lx::DeviceContext& ctx) {
                   ctx.psum(ctx.device().id == 0 ? v : lx::ConstView<float>(transposed), "x");
                 }),
                 {"device 0", "device 1", "hint:"}));
  CHECK(contains(failing([&](lx::DeviceContext& ctx) {
                   if (ctx.device().id == 0)
                     ctx.psum(1.0f, "x");
                   else
                     ctx.psum(1, "x");
                 }),
                 {"another collective"}));
}

TEST_CASE("code that swallows all exceptions does not hide the first one", "[spmd]") {
  const auto mesh = mesh_of({3}, {"x"});
  CHECK_THROWS_AS(lx::shard_map(mesh, std::tuple<>(), lx::P(),
                                [](lx::DeviceContext& ctx) {
                                  if (ctx.device().id == 1) throw std::domain_error("device 1");
                                  for (int i = 0; i < 3; ++i) {
                                    try {
                                      ctx.psum(1, "x");
                                    } catch (...) {
                                    }
                                  }
                                })(),
                  std::domain_error);
}

TEST_CASE("a step inside a step is an error", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  lx::MeshScope scope{mesh};
  const auto inner = lx::shard_map(mesh, std::tuple<>(), lx::P(), [](lx::DeviceContext&) {});
  CHECK(contains(message_of<lx::StateError>([&] {
                   lx::shard_map(mesh, std::tuple<>(), lx::P(),
                                 [&](lx::DeviceContext&) { inner(); })();
                 }),
                 {"inside the code of a device", "hint:"}));
  CHECK(contains(message_of<lx::StateError>([&] {
                   lx::shard_map(mesh, std::tuple<>(), lx::P(), [&](lx::DeviceContext&) {
                     lx::host_to_global_device_array(counting({2}));
                   })();
                 }),
                 {"inside the code of a device"}));
}

TEST_CASE("a step that failed leaves no memory in use", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  lx::MeshScope scope{mesh, std::make_shared<lx::Runtime>()};
  auto x = lx::host_to_global_device_array(counting({64}), lx::P("x"));
  const auto memory = lx::current_runtime()->memory(mesh.devices()[0]);
  const auto before = memory->bytes_in_use();
  const auto step =
      lx::shard_map(mesh, lx::P("x"), lx::P("x"), [](lx::DeviceContext& ctx, const auto& v) {
        const auto all = ctx.all_gather(v, "x");
        if (ctx.device().id == 1) throw std::runtime_error("no");
        return all;
      });
  for (int i = 0; i < 5; ++i) CHECK_THROWS_AS(step(x), std::runtime_error);
  CHECK(memory->bytes_in_use() == before);
}
