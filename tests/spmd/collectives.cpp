#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <loadax/placement/global_to_host_array.hpp>
#include <loadax/placement/host_to_global_device_array.hpp>
#include <loadax/spmd/shard_map.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/meshes.hpp"
#include "support/on_devices.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::counting;
using loadax_test::mesh_of;
using loadax_test::message_of;
using loadax_test::on_devices;

namespace {

lx::HostArray<double> values(std::size_t device, const lx::Shape& shape) {
  lx::HostArray<double> array(shape);
  for (std::size_t i = 0; i < array.size(); ++i)
    array.values()[i] = static_cast<double>((device * 31 + i * 7) % 101) + 0.25;
  return array;
}

}  // namespace

TEST_CASE("axis_index and axis_size along one axis and several", "[spmd]") {
  const auto mesh = mesh_of({2, 3, 4}, {"a", "b", "c"});
  std::vector<std::vector<std::int64_t>> seen(24);
  on_devices(mesh, [&](lx::DeviceContext& ctx) {
    seen[static_cast<std::size_t>(ctx.device().id)] = {ctx.axis_index("a"),
                                                       ctx.axis_index("b"),
                                                       ctx.axis_index("c"),
                                                       ctx.axis_index(lx::axes("a", "c")),
                                                       ctx.axis_index(lx::axes("c", "a")),
                                                       ctx.axis_size(lx::axes("b", "c"))};
  });
  for (std::int64_t id = 0; id < 24; ++id) {
    const std::int64_t a = id / 12, b = id / 4 % 3, c = id % 4;
    CHECK(seen[static_cast<std::size_t>(id)] ==
          std::vector<std::int64_t>{a, b, c, a * 4 + c, c * 2 + a, 12});
  }
}

TEST_CASE("psum and pmean of numbers", "[spmd]") {
  const auto mesh = mesh_of({2, 4}, {"data", "model"});
  const auto sum = on_devices(mesh, [](lx::DeviceContext& ctx) {
    return ctx.psum(static_cast<int>(ctx.device().id), lx::axes("data", "model"));
  });
  CHECK(sum == 28);
  std::vector<double> means(8);
  on_devices(mesh, [&](lx::DeviceContext& ctx) {
    means[static_cast<std::size_t>(ctx.device().id)] =
        ctx.pmean(static_cast<double>(ctx.device().id), "model");
  });
  CHECK(means == std::vector<double>{1.5, 1.5, 1.5, 1.5, 5.5, 5.5, 5.5, 5.5});
  const auto z = on_devices(mesh, [](lx::DeviceContext& ctx) {
    return ctx.psum(std::complex<float>(1, static_cast<float>(ctx.axis_index("model"))), "model");
  });
  CHECK(z == std::complex<float>(4, 6));
}

// The expected values were computed with jax.lax.all_gather and jax.lax.psum_scatter.
TEST_CASE("all_gather and psum_scatter have JAX's shapes and orders", "[spmd]") {
  const auto mesh = mesh_of({4}, {"x"});
  lx::MeshScope scope{mesh};
  const auto x = lx::host_to_global_device_array(counting({4, 2}), lx::P("x"));
  const auto run = [&](auto code) {
    return lx::global_to_host_array(lx::shard_map(mesh, lx::P("x"), lx::P(), code)(x));
  };
  const auto stacked =
      run([](lx::DeviceContext& ctx, const auto& v) { return ctx.all_gather(v, "x"); });
  CHECK(stacked == lx::HostArray<float>({4, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7}));
  const auto last = run(
      [](lx::DeviceContext& ctx, const auto& v) { return ctx.all_gather(v, "x", {.axis = 2}); });
  CHECK(last == lx::HostArray<float>({1, 2, 4}, {0, 2, 4, 6, 1, 3, 5, 7}));
  const auto tiled = run([](lx::DeviceContext& ctx, const auto& v) {
    return ctx.all_gather(v, "x", {.axis = 1, .tiled = true});
  });
  CHECK(tiled == lx::HostArray<float>({1, 8}, {0, 1, 2, 3, 4, 5, 6, 7}));

  const auto y = lx::host_to_global_device_array(counting({4, 4}), lx::P());
  const auto scattered = lx::global_to_host_array(
      lx::shard_map(mesh, lx::P(), lx::P("x"), [](lx::DeviceContext& ctx, const auto& v) {
        return ctx.psum_scatter(v, "x", {.scatter_dimension = 1});
      })(y));
  // Device k gets column k of the sum, as a vector of 4.
  CHECK(scattered ==
        lx::HostArray<float>({16}, {0, 16, 32, 48, 4, 20, 36, 52, 8, 24, 40, 56, 12, 28, 44, 60}));
  const auto parts = lx::global_to_host_array(
      lx::shard_map(mesh, lx::P(), lx::P("x"), [](lx::DeviceContext& ctx, const auto& v) {
        return ctx.psum_scatter(v, "x", {.scatter_dimension = 0, .tiled = true});
      })(y));
  lx::HostArray<float> four = counting({4, 4});
  for (auto& v : four.values()) v *= 4;
  CHECK(parts == four);
}

TEST_CASE("collectives over any axes agree with sums and copies made by hand", "[spmd]") {
  const auto seed = loadax_test::seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t round = 0; round < loadax_test::scaled(60); ++round) {
    const std::vector<std::int64_t> sizes{static_cast<std::int64_t>(1 + below(3)),
                                          static_cast<std::int64_t>(1 + below(3)),
                                          static_cast<std::int64_t>(1 + below(2))};
    const auto mesh = mesh_of(lx::MeshShape(sizes), {"a", "b", "c"});
    std::vector<std::string> names{"a", "b", "c"};
    for (std::size_t i = 3; i > 1; --i) std::swap(names[i - 1], names[below(i)]);
    names.resize(1 + below(3));
    const lx::Axes axes{names};
    // Of each device: the devices of its group, in order of their index along the axes.
    const auto group_of = [&](std::size_t me) {
      std::vector<std::pair<std::int64_t, std::size_t>> members;
      for (std::size_t p = 0; p < mesh.size(); ++p) {
        bool same = true;
        std::int64_t index = 0;
        for (std::size_t axis = 0; axis < 3; ++axis)
          if (std::ranges::find(names, mesh.axis_names()[axis]) == names.end())
            same = same && mesh.coordinate(p, axis) == mesh.coordinate(me, axis);
        for (const auto& name : names)
          index = index * mesh.axis_size(name) + mesh.coordinate(p, mesh.axis(name));
        if (same) members.emplace_back(index, p);
      }
      std::ranges::sort(members);
      return members;
    };
    const std::size_t n = group_of(0).size();
    const std::size_t dimension = below(3);
    lx::Shape shape{1 + below(3), 1 + below(3), 1 + below(3)};
    shape[dimension] *= n;
    if (below(6) == 0) shape[(dimension + 1) % 3] = 4000;  // beyond the tiles and the split
    INFO("mesh " << lx::to_string(mesh) << " over " << lx::bracketed(names) << " of "
                 << lx::bracketed(shape));

    std::vector<lx::HostArray<double>> sums(mesh.size()), gathers(mesh.size()),
        scatters(mesh.size());
    on_devices(mesh, [&](lx::DeviceContext& ctx) {
      const auto me = static_cast<std::size_t>(ctx.device().id);
      const auto mine = values(me, shape);
      const lx::ConstView<double> x(mine);
      const auto keep = [](lx::View<double> v) {
        return lx::HostArray<double>(v.shape(), v.values());
      };
      sums[me] = keep(ctx.psum(x, axes));
      gathers[me] = keep(ctx.all_gather(x, axes, {.axis = dimension, .tiled = true}));
      scatters[me] =
          keep(ctx.psum_scatter(x, axes, {.scatter_dimension = dimension, .tiled = true}));
      auto in_place = ctx.allocate<double>(shape);
      std::ranges::copy(mine.values(), in_place.values().begin());
      ctx.psum_into(in_place, in_place, axes);
      if (!std::ranges::equal(in_place.values(), sums[me].values()))
        throw std::logic_error("psum in place differs");
      if (dimension == 0) {
        const auto& part = scatters[me];
        const auto whole = ctx.empty_like(x);
        std::ranges::copy(mine.values(), whole.values().begin());
        const lx::View own(
            whole.data() + static_cast<std::size_t>(ctx.axis_index(axes)) * part.size(),
            part.shape());
        ctx.psum_scatter_into(whole, own, axes, {.scatter_dimension = 0, .tiled = true});
        if (!std::ranges::equal(own.values(), part.values()))
          throw std::logic_error("psum_scatter in place differs");
      }
    });

    std::size_t outer = 1, inner = 1;
    for (std::size_t d = 0; d < 3; ++d) (d < dimension ? outer : inner) *= shape[d];
    for (std::size_t me = 0; me < mesh.size(); ++me) {
      const auto members = group_of(me);
      lx::HostArray<double> sum(shape);
      std::vector<double> gathered(sum.size() * n);
      std::size_t index = 0;
      for (std::size_t j = 0; j < n; ++j) {
        const auto theirs = values(members[j].second, shape);
        if (members[j].second == me) index = j;
        for (std::size_t i = 0; i < sum.size(); ++i) sum.values()[i] += theirs.values()[i];
        for (std::size_t o = 0; o < outer; ++o)
          for (std::size_t i = 0; i < inner; ++i)
            gathered[(o * n + j) * inner + i] = theirs.values()[o * inner + i];
      }
      REQUIRE(sums[me] == sum);
      REQUIRE(std::ranges::equal(gathers[me].values(), gathered));
      std::vector<double> part;
      for (std::size_t o = 0; o < outer; ++o)
        for (std::size_t i = 0; i < inner / n; ++i)
          part.push_back(sum.values()[o * inner + index * (inner / n) + i]);
      REQUIRE(std::ranges::equal(scatters[me].values(), part));
    }
  }
}

TEST_CASE("sums run in mesh order, small and large, and are the same in every run", "[spmd]") {
  const auto mesh = mesh_of({4}, {"x"});
  for (const std::size_t count : {1, 3, 10000}) {
    // 1e16 + 1 is 1e16 in double: only mesh order gives 2.
    const double given[] = {1e16, -1e16, 1.0, 1.0};
    std::vector<std::vector<double>> results(4);
    on_devices(mesh, [&](lx::DeviceContext& ctx) {
      const auto me = static_cast<std::size_t>(ctx.device().id);
      lx::HostArray<double> x({count});
      std::ranges::fill(x.values(), given[me]);
      const auto sum = ctx.psum(lx::ConstView<double>(x), "x");
      results[me].assign(sum.values().begin(), sum.values().end());
    });
    for (const auto& result : results)
      CHECK(std::ranges::all_of(result, [](double v) { return v == 2.0; }));
  }
}

TEST_CASE("collectives take structures", "[spmd]") {
  const auto mesh = mesh_of({4}, {"x"});
  const auto sums = on_devices(mesh, [](lx::DeviceContext& ctx) {
    const auto me = static_cast<float>(ctx.device().id);
    const lx::HostArray<float> a({2}, {me, 2 * me});
    const lx::HostArray<std::int64_t> b({1}, {ctx.device().id});
    return ctx.psum(std::tuple{lx::ConstView<float>(a), lx::ConstView<std::int64_t>(b)}, "x");
  });
  CHECK(lx::global_to_host_array(std::get<0>(sums)) == lx::HostArray<float>({2}, {6, 12}));
  CHECK(lx::global_to_host_array(std::get<1>(sums)) == lx::HostArray<std::int64_t>({1}, {6}));
}

TEST_CASE("a step's traffic is counted by collective", "[spmd]") {
  const auto mesh = mesh_of({2, 4}, {"data", "model"});
  const auto step = lx::shard_map(mesh, std::tuple<>(), lx::P(), [](lx::DeviceContext& ctx) {
    const lx::HostArray<float> x({8, 4});
    const lx::ConstView<float> view(x);
    ctx.all_gather(view, "model", {.axis = 0, .tiled = true});
    ctx.psum_scatter(view, "model", {.scatter_dimension = 0, .tiled = true});
    return ctx.psum(1.0f, "data");
  });
  step();
  step();
  const auto traffic = step.traffic();
  // Of 8 devices, twice: 3 whole arrays each; a quarter of 3 arrays each; one number each.
  CHECK(traffic[lx::Collective::all_gather] == lx::Traffic::Count{16, 16 * 3 * 128});
  CHECK(traffic[lx::Collective::psum_scatter] == lx::Traffic::Count{16, 16 * 3 * 32});
  CHECK(traffic[lx::Collective::psum] == lx::Traffic::Count{16, 16 * 1 * 4});
  CHECK(lx::name(lx::Collective::psum_scatter) == "psum_scatter");
  auto again = step;
  again.reset_traffic();
  CHECK(step.traffic() == lx::Traffic());
}

TEST_CASE("the arena gives memory back at the end of a scope and of the step", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  lx::MeshScope scope{mesh, std::make_shared<lx::Runtime>()};
  const auto memory = lx::current_runtime()->memory(mesh.devices()[0]);
  std::vector<std::size_t> in_use;
  on_devices(mesh, [&](lx::DeviceContext& ctx) {
    const lx::HostArray<double> x({100});
    const lx::ConstView<double> view(x);
    const auto note = [&] {
      if (ctx.device().id == 0) in_use.push_back(memory->bytes_in_use());
    };
    note();
    const auto kept = ctx.allocate<double>({10});
    {
      lx::ArenaScope layer{ctx};
      ctx.all_gather(view, "x");
      note();
      {
        lx::ArenaScope inner{ctx};
        ctx.psum(view, "x");
        note();
      }
      note();
    }
    note();
    kept.values()[9] = 1;
  });
  CHECK(in_use == std::vector<std::size_t>{0, 80 + 1600, 80 + 1600 + 800, 80 + 1600, 80});
  CHECK(memory->bytes_in_use() == 0);
  CHECK(memory->peak_bytes() == 80 + 1600 + 800);
}

TEST_CASE("collectives with wrong arguments say which", "[spmd]") {
  const auto mesh = mesh_of({3}, {"x"});
  const lx::HostArray<float> x({4, 2});
  const auto failing = [&](auto code) {
    return message_of<lx::ArgumentError>([&] {
      on_devices(mesh, [&](lx::DeviceContext& ctx) { code(ctx, lx::ConstView<float>(x)); });
    });
  };
  CHECK(contains(failing([](auto& ctx, auto v) { ctx.psum(v, "y"); }), {"y", "x"}));
  CHECK(contains(failing([](auto& ctx, auto v) { ctx.psum(v, lx::axes("x", "x")); }),
                 {"'x' is named twice", "hint:"}));
  CHECK(contains(failing([](auto& ctx, auto v) { ctx.psum(v, lx::axes()); }),
                 {"over no axis", "hint:"}));
  CHECK(contains(failing([](auto& ctx, auto v) { ctx.all_gather(v, "x", {.axis = 3}); }),
                 {"all_gather: axis 3", "[4, 2]", "hint:"}));
  CHECK(contains(
      failing([](auto& ctx, auto v) { ctx.all_gather(v, "x", {.axis = 2, .tiled = true}); }),
      {"all_gather: tiled along axis 2", "[4, 2]"}));
  CHECK(contains(failing([](auto& ctx, auto v) { ctx.psum_scatter(v, "x"); }),
                 {"psum_scatter: dimension 0", "[4, 2]", "3 devices", "tiled = true"}));
  CHECK(contains(failing([](auto& ctx, auto v) { ctx.psum_scatter(v, "x", {.tiled = true}); }),
                 {"psum_scatter: dimension 0", "3 devices", "multiple"}));
  CHECK(contains(
      failing([](auto& ctx, auto v) { ctx.psum_scatter(v, "x", {.scatter_dimension = 2}); }),
      {"psum_scatter: dimension 2", "[4, 2]"}));
  CHECK(contains(failing([](auto& ctx, auto v) { ctx.all_to_all(v, "x"); }),
                 {"all_to_all: split_axis: dimension 0", "[4, 2]", "3 devices", "tiled = true"}));
  CHECK(contains(failing([](auto& ctx, auto v) { ctx.all_to_all(v, "x", {.split_axis = 2}); }),
                 {"all_to_all: split_axis: dimension 2", "[4, 2]", "hint:"}));
  CHECK(contains(failing([](auto& ctx, auto) {
                   ctx.all_to_all(ctx.template allocate<float>({3}), "x", {.concat_axis = 1});
                 }),
                 {"all_to_all: concat_axis: axis 1 of an array []", "hint:"}));
  CHECK(contains(failing([](auto& ctx, auto v) { ctx.pbroadcast(v, "x", 3); }),
                 {"pbroadcast: source 3 among 3 devices", "hint:"}));
  CHECK(contains(failing([](auto& ctx, auto v) { ctx.pbroadcast(v, "x", -1); }),
                 {"pbroadcast: source -1"}));
  CHECK(contains(failing([](auto& ctx, auto v) { ctx.ppermute(v, "x", {{0, 3}}); }),
                 {"ppermute: destination 3 among 3 devices", "hint:"}));
  CHECK(contains(failing([](auto& ctx, auto v) { ctx.ppermute(v, "x", {{-1, 0}}); }),
                 {"ppermute: source -1 among 3 devices"}));
  CHECK(contains(failing([](auto& ctx, auto v) { ctx.ppermute(v, "x", {{0, 1}, {0, 2}}); }),
                 {"ppermute: 0 is source twice", "at most one", "hint:"}));
  CHECK(contains(failing([](auto& ctx, auto v) { ctx.ppermute(v, "x", {{0, 1}, {2, 1}}); }),
                 {"ppermute: 1 is destination twice"}));
}

TEST_CASE("a collective's destination has the result's shape and a place of its own", "[spmd]") {
  const auto mesh = mesh_of({2}, {"x"});
  const auto failing = [&](auto code) {
    return message_of<lx::ArgumentError>([&] {
      on_devices(mesh, [&](lx::DeviceContext& ctx) {
        const auto memory = ctx.allocate<float>({3, 2});
        const lx::View<float> x(memory.data(), {2, 2});
        code(ctx, x, lx::View<float>(memory.data() + 2, {2, 2}), ctx.allocate<float>({3}));
      });
    });
  };
  const auto check = [&](const char* name, auto into) {
    const std::string text = std::string(name) + "_into: the destination";
    CHECK(contains(
        failing([&](auto& ctx, auto x, auto overlapping, auto) { into(ctx, x, overlapping); }),
        {text, "overlaps the argument [2, 2]", "hint:"}));
    CHECK(
        contains(failing([&](auto& ctx, auto x, auto, auto short_one) { into(ctx, x, short_one); }),
                 {text + " has shape [3]", "the result", "hint:"}));
  };
  check("psum", [](auto& ctx, auto x, auto out) { ctx.psum_into(x, out, "x"); });
  check("pmax", [](auto& ctx, auto x, auto out) { ctx.pmax_into(x, out, "x"); });
  check("pmin", [](auto& ctx, auto x, auto out) { ctx.pmin_into(x, out, "x"); });
  check("pbroadcast", [](auto& ctx, auto x, auto out) { ctx.pbroadcast_into(x, out, "x", 0); });
  check("ppermute", [](auto& ctx, auto x, auto out) { ctx.ppermute_into(x, out, "x", {}); });
  check("all_to_all", [](auto& ctx, auto x, auto out) {
    ctx.all_to_all_into(x, out, "x", {.split_axis = 0, .concat_axis = 1});
  });
}
