// Steps in a program whose allocations fail, each in its turn.
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <utility>

#include <loadax/placement/global_to_host_array.hpp>
#include <loadax/placement/host_to_global_device_array.hpp>
#include <loadax/placement/with_sharding_constraint.hpp>
#include <loadax/spmd/shard_map.hpp>

#include "support/catch.hpp"
#include "support/meshes.hpp"
#include "support/out_of_memory.hpp"

namespace lx = loadax;
using loadax_test::allocations;
using loadax_test::counting;
using loadax_test::mesh_of;

namespace {

template <template <class> class Leaf>
struct Params {
  Leaf<float> w, b;
};

Params<lx::HostArray> host_params() { return {counting({8, 2}), counting({4})}; }

/// Collectives, memory in the arena, an inout argument, several results.
auto training_step(const lx::Mesh& mesh) {
  const Params<lx::SpecOf> specs{.w = lx::P("x"), .b = lx::P()};
  return lx::shard_map(
      mesh, std::tuple{specs, lx::P("x")}, std::tuple{lx::P(), lx::P("x")},
      [](lx::DeviceContext& ctx, const Params<lx::View>& params, lx::ConstView<float> x) {
        const auto w = ctx.all_gather(params.w, "x", {.tiled = true});
        const auto sum = ctx.psum(x, "x");
        for (auto& value : params.w.values()) value += sum.data()[0];
        float total = 0;
        for (const auto value : w.values()) total += value;
        return std::tuple{ctx.psum(total, "x"), sum};
      },
      {.check_replicas = true});
}

}  // namespace

TEST_CASE("whichever allocation fails, a program ends with std::bad_alloc and no leak", "[spmd]") {
  const auto program = [] {
    const auto mesh = mesh_of({2, 2}, {"x", "y"});
    const lx::MeshScope scope{mesh, std::make_shared<lx::Runtime>()};
    auto params = lx::host_to_global_device_array(host_params(), lx::P("y"));
    params =
        lx::with_sharding_constraint(params, Params<lx::SpecOf>{.w = lx::P("x"), .b = lx::P()});
    const auto x = lx::host_to_global_device_array(counting({4}));
    const auto [loss, sum] = training_step(mesh)(lx::inout(params), x);
    const auto host = lx::global_to_host_array(params);
    return std::pair{loss, host.w.data()[0]};
  };
  const auto expected = program();
  for (const bool for_good : {false, true}) {
    int failed = 0;
    loadax_test::run_out_of_memory(for_good, [&] {
      const auto failures = allocations.failures();
      std::optional<std::pair<float, float>> result;
      try {
        result = program();
      } catch (const std::bad_alloc&) {
        ++failed;
      }
      allocations.fail_no_more();
      // Where one failed, there is no result.
      REQUIRE(result.has_value() == (allocations.failures() == failures));
      if (result) REQUIRE(*result == expected);
    });
    CHECK(failed > 50);
  }
}

TEST_CASE("after a failed allocation a step can be called again", "[spmd]") {
  const auto mesh = mesh_of({4}, {"x"});
  const lx::MeshScope scope{mesh, std::make_shared<lx::Runtime>()};
  const auto step = training_step(mesh);
  const auto place = [] {
    return lx::host_to_global_device_array(host_params(),
                                           Params<lx::SpecOf>{.w = lx::P("x"), .b = lx::P()});
  };
  const auto x = lx::host_to_global_device_array(counting({4}), lx::P("x"));
  auto params = place();
  const auto run = [&] { return std::get<0>(step(lx::inout(params), x)); };
  const float expected = run();
  for (const bool for_good : {false, true}) {
    int failed = 0;
    loadax_test::run_out_of_memory(for_good, [&] {
      try {
        run();
      } catch (const std::bad_alloc&) {
        ++failed;
      }
      allocations.fail_no_more();
      params = place();
      REQUIRE(run() == expected);
    });
    CHECK(failed > 5);
  }
}
