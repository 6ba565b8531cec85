#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <loadax/spmd/shard_map.hpp>

#include "support/catch.hpp"
#include "support/meshes.hpp"
#include "support/on_devices.hpp"

namespace lx = loadax;
using loadax_test::mesh_of;
using loadax_test::on_devices;
using nlohmann::json;

namespace {

lx::View<std::int32_t> call(lx::DeviceContext& ctx, const json& c, lx::ConstView<std::int32_t> x) {
  const lx::Axes axes{c["axes"].get<std::vector<std::string>>()};
  const std::string op = c["op"];
  if (op == "psum") return ctx.psum(x, axes);
  if (op == "pmax") return ctx.pmax(x, axes);
  if (op == "pmin") return ctx.pmin(x, axes);
  if (op == "all_to_all")
    return ctx.all_to_all(
        x, axes, {.split_axis = c["split"], .concat_axis = c["concat"], .tiled = c["tiled"]});
  std::vector<lx::PermutePairs::Pair> pairs;
  for (const auto& pair : c["pairs"]) pairs.push_back({pair[0], pair[1]});
  return ctx.ppermute(x, axes, pairs);
}

}  // namespace

TEST_CASE("collectives give what JAX's give, or refuse what JAX refuses", "[spmd]") {
  const auto cases =
      json::parse(std::ifstream(LOADAX_SOURCE_DIR "/tests/golden/collectives.json"))["cases"];
  std::size_t refused = 0;
  for (const auto& c : cases) {
    const auto sizes = c["mesh"].get<std::vector<std::int64_t>>();
    const auto mesh = mesh_of(lx::MeshShape(sizes),
                              sizes.size() == 1 ? lx::AxisNames<>{"x"} : lx::AxisNames<>{"x", "y"});
    lx::Shape shape;
    for (const std::size_t size : c["shape"]) shape.push_back(size);
    std::vector<std::vector<std::int32_t>> results(mesh.size());
    std::vector<lx::Shape> shapes(mesh.size());
    const auto run = [&] {
      on_devices(mesh, [&](lx::DeviceContext& ctx) {
        const auto d = static_cast<std::size_t>(ctx.device().id);
        lx::HostArray<std::int32_t> x(shape);
        std::iota(x.values().begin(), x.values().end(), static_cast<std::int32_t>(1000 * d));
        const auto result = call(ctx, c, lx::ConstView<std::int32_t>(x));
        results[d].assign(result.values().begin(), result.values().end());
        shapes[d] = result.shape();
      });
    };
    INFO(c.dump());
    if (c.contains("error")) {
      ++refused;
      REQUIRE_THROWS_AS(run(), lx::ArgumentError);
      continue;
    }
    run();
    std::vector<std::int32_t> all;
    for (const auto& result : results) all.insert(all.end(), result.begin(), result.end());
    REQUIRE(all == c["result"].get<std::vector<std::int32_t>>());
    for (const auto& result : shapes)
      REQUIRE(std::ranges::equal(result, c["result_shape"].get<std::vector<std::size_t>>()));
  }
  CHECK(refused > 100);
  CHECK(cases.size() - refused > 100);
}
