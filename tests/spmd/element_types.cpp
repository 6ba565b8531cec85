#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <loadax/placement/global_to_host_array.hpp>
#include <loadax/placement/host_to_global_device_array.hpp>
#include <loadax/placement/with_sharding_constraint.hpp>
#include <loadax/spmd/shard_map.hpp>

#include "support/catch.hpp"
#include "support/meshes.hpp"
#include "support/on_devices.hpp"

namespace lx = loadax;
using loadax_test::mesh_of;
using loadax_test::on_devices;

namespace {

struct Pixel {
  std::uint8_t red, green, blue;
  bool operator==(const Pixel&) const = default;
};

/// Element i of device d's array: small whole numbers, so that sums are exact in every type.
template <class T>
T element(std::size_t d, std::size_t i) {
  const auto v = static_cast<int>((d * 5 + i * 3) % 7);
  if constexpr (std::is_same_v<T, Pixel>)
    return {static_cast<std::uint8_t>(v), static_cast<std::uint8_t>(d),
            static_cast<std::uint8_t>(i)};
  else if constexpr (std::is_same_v<T, bool>)
    return v % 2 == 1;
  else
    return static_cast<T>(static_cast<float>(v));
}

template <class T>
lx::HostArray<T> array_of(std::size_t d, const lx::Shape& shape) {
  lx::HostArray<T> array(shape);
  for (std::size_t i = 0; i < array.size(); ++i) array.data()[i] = element<T>(d, i);
  return array;
}

template <class T>
std::vector<T> elements(const lx::View<T>& view) {
  return std::vector<T>(view.data(), view.data() + view.size());
}

}  // namespace

TEMPLATE_TEST_CASE("arrays of every element type are placed, moved and brought back", "[spmd]",
                   bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                   std::uint16_t, std::uint32_t, std::uint64_t, lx::float16_t, lx::bfloat16_t,
                   float, double, std::complex<float>, std::complex<double>, Pixel) {
  const auto mesh = mesh_of({2, 2}, {"a", "b"});
  const lx::MeshScope scope{mesh};
  const auto host = array_of<TestType>(3, {4, 6});
  auto array = lx::host_to_global_device_array(host, lx::P("a", "b"));
  for (const auto& spec : {lx::P(lx::none, "a"), lx::P(), lx::P(lx::axes("b", "a"))})
    array = lx::with_sharding_constraint(array, spec);
  CHECK(lx::global_to_host_array(array) == host);
}

TEMPLATE_TEST_CASE("collectives that move take every element type", "[spmd]", bool, std::int8_t,
                   std::uint64_t, lx::float16_t, lx::bfloat16_t, double, std::complex<float>,
                   Pixel) {
  const std::size_t n = 3;
  const auto mesh = mesh_of({3}, {"x"});
  on_devices(mesh, [&](lx::DeviceContext& ctx) {
    const auto me = static_cast<std::size_t>(ctx.device().id);
    const auto mine = array_of<TestType>(me, {n, 2});
    const lx::ConstView<TestType> x(mine);
    const auto require = [](bool ok) {
      if (!ok) throw std::logic_error("a collective moved an element wrongly");
    };
    const auto gathered = elements(ctx.all_gather(x, "x"));
    const auto exchanged = elements(ctx.all_to_all(x, "x"));
    for (std::size_t d = 0; d < n; ++d)
      for (std::size_t i = 0; i < n * 2; ++i) {
        require(gathered[d * n * 2 + i] == element<TestType>(d, i));
        if (i < 2) require(exchanged[d * 2 + i] == element<TestType>(d, me * 2 + i));
      }
    const auto sent = elements(ctx.pbroadcast(x, "x", 2));
    const auto shifted = elements(ctx.ppermute(x, "x", {{0, 1}, {1, 2}}));
    for (std::size_t i = 0; i < n * 2; ++i) {
      require(sent[i] == element<TestType>(2, i));
      require(shifted[i] == (me == 0 ? TestType{} : element<TestType>(me - 1, i)));
    }
  });
}

TEMPLATE_TEST_CASE("reductions take every element type that has them", "[spmd]", bool, std::int8_t,
                   std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t, lx::float16_t, lx::bfloat16_t, float, double,
                   std::complex<float>, std::complex<double>) {
  constexpr std::size_t n = 4;
  const auto mesh = mesh_of({4}, {"x"});
  for (const std::size_t count : {std::size_t{4}, std::size_t{40000}}) {
    std::vector<std::vector<TestType>> sums(n), greatest(n), least(n), parts(n);
    on_devices(mesh, [&](lx::DeviceContext& ctx) {
      const auto me = static_cast<std::size_t>(ctx.device().id);
      const auto mine = array_of<TestType>(me, {count});
      const lx::ConstView<TestType> x(mine);
      if constexpr (!std::is_same_v<TestType, bool>) {
        sums[me] = elements(ctx.psum(x, "x"));
        parts[me] = elements(ctx.psum_scatter(x, "x", {.tiled = true}));
      }
      if constexpr (lx::OrderedElement<TestType>) {
        greatest[me] = elements(ctx.pmax(x, "x"));
        least[me] = elements(ctx.pmin(x, "x"));
      }
    });
    std::vector<TestType> sum(count), most(count), fewest(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::array<int, n> values{};
      for (std::size_t d = 0; d < n; ++d)
        values[d] = element<std::int32_t>(d, i) % (std::is_same_v<TestType, bool> ? 2 : 100);
      const auto as_element = [](int v) { return static_cast<TestType>(static_cast<float>(v)); };
      sum[i] = as_element(std::accumulate(values.begin(), values.end(), 0));
      most[i] = as_element(std::ranges::max(values));
      fewest[i] = as_element(std::ranges::min(values));
    }
    for (std::size_t d = 0; d < n; ++d) {
      if constexpr (!std::is_same_v<TestType, bool>) {
        REQUIRE((sums[d] == sum));
        REQUIRE(std::equal(parts[d].begin(), parts[d].end(), sum.data() + count / n * d));
      }
      if constexpr (lx::OrderedElement<TestType>) {
        REQUIRE((greatest[d] == most));
        REQUIRE((least[d] == fewest));
      }
    }
  }
}

TEST_CASE("a psum of 16-bit numbers is rounded once, small and large", "[spmd]") {
  const auto mesh = mesh_of({3}, {"x"});
  for (const std::size_t count : {std::size_t{1}, std::size_t{50000}})
    on_devices(mesh, [&](lx::DeviceContext& ctx) {
      auto x = ctx.allocate<lx::float16_t>({count});
      std::ranges::fill(x.values(), lx::float16_t(ctx.device().id == 0 ? 2048.0f : 1.0f));
      for (const auto value : ctx.psum(x, "x").values())
        if (value != 2050.0f) throw std::logic_error("rounded more than once");
      ctx.psum_into(x, x, "x");
      if (x.data()[count - 1] != 2050.0f) throw std::logic_error("rounded more than once");
    });
}

TEST_CASE("pmax and pmin of NaN are NaN on whichever device it is", "[spmd]") {
  const auto mesh = mesh_of({3}, {"x"});
  for (std::int64_t at = 0; at < 3; ++at)
    on_devices(mesh, [&](lx::DeviceContext& ctx) {
      const float x = ctx.device().id == at ? std::numeric_limits<float>::quiet_NaN() : 1.0f;
      if (!std::isnan(ctx.pmax(x, "x")) || !std::isnan(ctx.pmin(x, "x")))
        throw std::logic_error("NaN was lost");
    });
}

TEST_CASE("numbers are reduced, permuted and broadcast", "[spmd]") {
  const auto mesh = mesh_of({2, 2}, {"a", "b"});
  std::vector<std::array<int, 4>> seen(4);
  on_devices(mesh, [&](lx::DeviceContext& ctx) {
    const int id = static_cast<int>(ctx.device().id);
    seen[static_cast<std::size_t>(id)] = {ctx.pmax(id, "a"), ctx.pmin(id, lx::axes("a", "b")),
                                          ctx.ppermute(id + 10, "b", {{1, 0}}),
                                          ctx.pbroadcast(id, lx::axes("b", "a"), 1)};
  });
  // Along (b, a), index 1 is (b = 0, a = 1): device 2.
  CHECK(seen ==
        std::vector<std::array<int, 4>>{{2, 0, 11, 2}, {3, 0, 0, 2}, {2, 0, 13, 2}, {3, 0, 0, 2}});
}

TEST_CASE("pmax, pmin and pbroadcast may write into their argument", "[spmd]") {
  const auto mesh = mesh_of({3}, {"x"});
  on_devices(mesh, [&](lx::DeviceContext& ctx) {
    const auto me = static_cast<float>(ctx.device().id);
    auto x = ctx.allocate<float>({2});
    const auto becomes = [&](float wanted) {
      if (x.data()[0] != wanted || x.data()[1] != wanted) throw std::logic_error("in place");
      std::ranges::fill(x.values(), me);
    };
    std::ranges::fill(x.values(), me);
    ctx.pmax_into(x, x, "x");
    becomes(2);
    ctx.pmin_into(x, x, "x");
    becomes(0);
    ctx.pbroadcast_into(x, x, "x", 1);
    becomes(1);
  });
}
