#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <loadax/placement/global_to_host_array.hpp>
#include <loadax/placement/host_to_global_device_array.hpp>
#include <loadax/spmd/shard_map.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/meshes.hpp"
#include "support/resources.hpp"

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

TEST_CASE("an exception in one device leaves threads, files and memory as they were", "[spmd]") {
  const auto mesh = mesh_of({2, 2}, {"data", "model"});
  const lx::MeshScope scope{mesh, std::make_shared<lx::Runtime>()};
  auto x = lx::host_to_global_device_array(counting({1024, 64}), lx::P("data"));
  int failing_device = 0, failing_call = 0;
  const auto step = lx::shard_map(mesh, lx::P("data"), lx::P("data"),
                                  [&](lx::DeviceContext& ctx, lx::View<float> v) {
                                    for (int call = 0; call < 3; ++call) {
                                      if (ctx.device().id == failing_device && call == failing_call)
                                        throw Odd{failing_device};
                                      ctx.psum(v, call == 1 ? "data" : "model");
                                    }
                                    return lx::HostArray<float>(v.shape());
                                  });
  const auto fail_everywhere = [&] {
    for (failing_device = 0; failing_device < 4; ++failing_device)
      for (failing_call = 0; failing_call < 3; ++failing_call)
        CHECK_THROWS_AS(step(lx::inout(x)), Odd);
  };
  fail_everywhere();
  const loadax_test::Resources resources;
  for (int round = 0; round < 20; ++round) fail_everywhere();
  CHECK(resources.unchanged());
  // 240 failed steps with some 0.5 MB each.
  CHECK(resources.resident_growth() < 8 << 20);
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

TEST_CASE("a device that throws while another group's members read frees nothing that is read",
          "[spmd]") {
  const auto mesh = mesh_of({2, 4}, {"data", "model"});
  std::atomic<int> started{0};
  const auto step = lx::shard_map(mesh, std::tuple<>(), lx::P(), [&](lx::DeviceContext& ctx) {
    if (ctx.axis_index("data") == 1) {
      while (started.load() < 4) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      throw Odd{ctx.device().id};
    }
    const lx::HostArray<float> mine({std::size_t{1} << 20});
    ++started;
    ctx.all_gather(lx::View(mine), "model", {.tiled = true});
    return;
  });
  for (int round = 0; round < 20; ++round) {
    started = 0;
    CHECK_THROWS_AS(step(), Odd);
  }
}

TEST_CASE("a program whose devices make different calls is told so at the end of the step",
          "[spmd]") {
  const auto mesh = mesh_of({2, 2}, {"data", "model"});
  const auto text = message_of<lx::StateError>([&] {
    lx::shard_map(mesh, std::tuple<>(), lx::P(), [](lx::DeviceContext& ctx) {
      if (ctx.axis_index("data") == 0) ctx.psum(1, "model");
    })();
  });
  CHECK(contains(text, {"device 0 made 1 collective calls", "device 2 made 0", "hint:"}));
}

TEST_CASE("devices that call collectives in different orders are told so, and do not hang",
          "[spmd]") {
  const auto mesh = mesh_of({2, 2}, {"a", "b"});
  const auto text = message_of<lx::StateError>([&] {
    lx::shard_map(mesh, std::tuple<>(), lx::P(), [](lx::DeviceContext& ctx) {
      const bool first = ctx.axis_index("a") == ctx.axis_index("b");
      ctx.psum(1, first ? "a" : "b");
      ctx.psum(1, first ? "b" : "a");
    })();
  });
  CHECK(contains(text, {"waits", "every other device", "hint:"}));
}

TEST_CASE("a step whose code swallows the failure of a collective fails all the same", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  bool skip = true;
  const auto step = lx::shard_map(mesh, std::tuple<>(), lx::P(), [&](lx::DeviceContext& ctx) {
    double sum = 0;
    if (skip && ctx.device().id == 0) return sum;
    try {
      sum = ctx.psum(1.0, "x");
    } catch (const std::exception&) {
    }
    return sum;
  });
  for (int round = 0; round < 20; ++round) {
    skip = true;
    CHECK(contains(message_of<lx::StateError>([&] { step(); }), {"caught", "hint:"}));
    skip = false;
    CHECK(step() == 2);
  }
}

TEST_CASE("results of different form are errors", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  const auto failing = [&](auto code) {
    return message_of<lx::ArgumentError>(
        [&] { lx::shard_map(mesh, std::tuple<>(), lx::P("x"), code)(); });
  };
  CHECK(contains(failing([](lx::DeviceContext& ctx) {
                   std::map<std::string, lx::HostArray<int>> result;
                   result.emplace(ctx.device().id == 0 ? "a" : "b", lx::HostArray<int>({1}));
                   return result;
                 }),
                 {"devices 0 and 1", "different form", "hint:"}));
  CHECK(contains(failing([](lx::DeviceContext& ctx) {
                   return std::vector<lx::HostArray<int>>(
                       static_cast<std::size_t>(ctx.device().id) + 1, lx::HostArray<int>({1}));
                 }),
                 {"different form", "hint:"}));
}

TEST_CASE("memory of more than 2^64 bytes cannot be asked for", "[spmd]") {
  const auto mesh = mesh_of({1}, {"x"});
  CHECK(contains(message_of<lx::ArgumentError>([&] {
                   lx::shard_map(mesh, std::tuple<>(), lx::P(), [](lx::DeviceContext& ctx) {
                     ctx.allocate<double>({std::size_t{1} << 61});
                   })();
                 }),
                 {"8-byte elements", "2^64", "hint:"}));
}

TEST_CASE("results that should be equal on all devices are compared", "[spmd]") {
  const auto mesh = mesh_of({4}, {"x"});
  const auto text = message_of<lx::ArgumentError>([&] {
    lx::shard_map(mesh, std::tuple<>(), lx::P(),
                  [](lx::DeviceContext& ctx) { return ctx.device().id / 2; })();
  });
  CHECK(contains(text, {"devices 0 and 2", "hint:", "psum"}));
  const auto forgotten = [](lx::DeviceContext& ctx) {
    return lx::HostArray<int>({1}, {ctx.device().id / 2});
  };
  const lx::ShardMapOptions checked{.check_replicas = true};
  CHECK(contains(message_of<lx::ArgumentError>(
                     [&] { lx::shard_map(mesh, std::tuple<>(), lx::P(), forgotten, checked)(); }),
                 {"devices 0 and 2", "hint:"}));
  CHECK_NOTHROW(lx::shard_map(mesh, std::tuple<>(), lx::P("x"), forgotten, checked)());
  CHECK_NOTHROW(
      lx::shard_map(mesh_of({2, 2}, {"x", "y"}), std::tuple<>(), lx::P("x"), forgotten, checked)());
}

TEST_CASE("replicas of an inout argument that a step leaves different are found", "[spmd]") {
  const auto mesh = mesh_of({2, 2}, {"data", "model"});
  const lx::MeshScope scope{mesh};
  auto w = lx::host_to_global_device_array(counting({4}), lx::P("model"));
  // Gradients that nobody averages over "data".
  const auto code = [](lx::DeviceContext& ctx, lx::View<float> v) {
    for (auto& value : v.values()) value += static_cast<float>(ctx.axis_index("data"));
  };
  lx::shard_map(mesh, lx::P("model"), lx::P(), code)(lx::inout(w));
  w = lx::host_to_global_device_array(counting({4}), lx::P("model"));
  const auto checked = lx::shard_map(mesh, lx::P("model"), lx::P(), code, {.check_replicas = true});
  CHECK(
      contains(message_of<lx::ArgumentError>([&] { checked(lx::inout(w)); }),
               {"argument 0: an inout array should be equal on all devices that hold the same part "
                "of it, but differs on devices 0 and 2",
                "pmean", "hint:"}));
  const auto averaged = lx::shard_map(mesh, lx::P("model"), lx::P(),
                                      [](lx::DeviceContext& ctx, lx::View<float> v) {
                                        for (auto& value : v.values())
                                          value += ctx.psum(1.0f, "data");
                                      },
                                      {.check_replicas = true});
  w = lx::host_to_global_device_array(counting({4}), lx::P("model"));
  averaged(lx::inout(w));
  CHECK(lx::global_to_host_array(w) == lx::HostArray<float>({4}, {2, 3, 4, 5}));
}

TEST_CASE("a destination that overlaps the argument is refused where it cannot be", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  const auto failing = [&](auto code) {
    return message_of<lx::ArgumentError>([&] {
      lx::shard_map(mesh, std::tuple<>(), lx::P(),
                    [&](lx::DeviceContext& ctx) { code(ctx, ctx.allocate<float>({4, 4})); })();
    });
  };
  CHECK(contains(failing([](lx::DeviceContext& ctx, lx::View<float> x) {
                   ctx.psum_into(lx::ConstView<float>(x.data(), {2, 4}),
                                 lx::View<float>(x.data() + 4, {2, 4}), "x");
                 }),
                 {"psum_into", "overlaps", "hint:"}));
  CHECK(contains(failing([](lx::DeviceContext& ctx, lx::View<float> x) {
                   ctx.psum_scatter_into(x, lx::View<float>(x.data(), {4, 2}), "x",
                                         {.scatter_dimension = 1, .tiled = true});
                 }),
                 {"psum_scatter_into", "overlaps"}));
  CHECK(contains(failing([](lx::DeviceContext& ctx, lx::View<float> x) {
                   ctx.all_gather_into(lx::ConstView<float>(x.data() + 4, {2, 4}), x, "x",
                                       {.axis = 0, .tiled = true});
                 }),
                 {"all_gather_into", "overlaps"}));
}

TEST_CASE("an all_gather may be in place", "[spmd]") {
  const auto mesh = mesh_of({3}, {"x"});
  const auto all = lx::shard_map(mesh, std::tuple<>(), lx::P(), [](lx::DeviceContext& ctx) {
    const auto out = ctx.allocate<std::int32_t>({6});
    const lx::View<std::int32_t> mine(out.data() + 2 * ctx.axis_index("x"), {2});
    mine.values()[0] = ctx.device().id;
    mine.values()[1] = 10 * ctx.device().id;
    ctx.all_gather_into(mine, out, "x", {.tiled = true});
    return out;
  })();
  CHECK(lx::global_to_host_array(all) == lx::HostArray<std::int32_t>({6}, {0, 0, 1, 10, 2, 20}));
}

TEST_CASE("traffic cannot be asked for inside the step", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  const auto other = lx::shard_map(mesh, std::tuple<>(), lx::P(), [](lx::DeviceContext&) {});
  CHECK(contains(message_of<lx::StateError>([&] {
                   lx::shard_map(mesh, std::tuple<>(), lx::P(),
                                 [&](lx::DeviceContext&) { other.traffic(); })();
                 }),
                 {"inside the code of a device"}));
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
