#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <loadax/core/random.hpp>
#include <loadax/device/simulated_topology.hpp>
#include <loadax/mesh/create_device_mesh.hpp>
#include <loadax/sharding/named_sharding.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/seed.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;
using lx::P;
using Numbers = std::vector<std::size_t>;

namespace {

lx::Mesh mesh_of(const std::vector<std::int64_t>& shape, lx::AxisNames<> names) {
  std::int64_t count = 1;
  for (const auto size : shape) count *= size;
  const lx::SimulatedTopology topology{{.devices_per_node = static_cast<int>(count)}};
  return {lx::create_device_mesh(shape, topology), std::move(names)};
}

lx::NamedSharding on_4_by_2(P spec) { return {mesh_of({4, 2}, {"x", "y"}), std::move(spec)}; }

Numbers starts(const lx::NamedSharding& sharding, const lx::Shape& shape, std::size_t dimension) {
  Numbers result;
  for (const auto& [device, index] : sharding.devices_indices_map(shape))
    result.push_back(index[dimension].start);
  return result;
}

Numbers replica_ids(const lx::NamedSharding& sharding) {
  Numbers result;
  for (const lx::Device& device : sharding.mesh().devices())
    result.push_back(sharding.replica_id(device));
  return result;
}

}  // namespace

TEST_CASE("the worked table: an array of shape (8, 2) over a mesh (4, 2)") {
  const lx::Shape shape{8, 2};
  const Numbers zeros(8, 0);
  SECTION("P(x, y)") {
    const auto s = on_4_by_2(P("x", "y"));
    CHECK(s.shard_shape(shape) == lx::Shape{2, 1});
    CHECK(starts(s, shape, 0) == Numbers{0, 0, 2, 2, 4, 4, 6, 6});
    CHECK(starts(s, shape, 1) == Numbers{0, 1, 0, 1, 0, 1, 0, 1});
    CHECK(replica_ids(s) == zeros);
  }
  SECTION("P(x)") {
    const auto s = on_4_by_2(P("x"));
    CHECK(s.shard_shape(shape) == lx::Shape{2, 2});
    CHECK(starts(s, shape, 0) == Numbers{0, 0, 2, 2, 4, 4, 6, 6});
    CHECK(starts(s, shape, 1) == zeros);
    CHECK(replica_ids(s) == Numbers{0, 1, 0, 1, 0, 1, 0, 1});
  }
  SECTION("P(y)") {
    const auto s = on_4_by_2(P("y"));
    CHECK(s.shard_shape(shape) == lx::Shape{4, 2});
    CHECK(starts(s, shape, 0) == Numbers{0, 4, 0, 4, 0, 4, 0, 4});
    CHECK(replica_ids(s) == Numbers{0, 0, 1, 1, 2, 2, 3, 3});
  }
  SECTION("P((x, y))") {
    const auto s = on_4_by_2(P(lx::axes("x", "y")));
    CHECK(s.shard_shape(shape) == lx::Shape{1, 2});
    CHECK(starts(s, shape, 0) == Numbers{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(replica_ids(s) == zeros);
  }
  SECTION("P((y, x))") {
    const auto s = on_4_by_2(P(lx::axes("y", "x")));
    CHECK(starts(s, shape, 0) == Numbers{0, 4, 1, 5, 2, 6, 3, 7});
    CHECK(replica_ids(s) == zeros);
  }
  SECTION("P()") {
    const auto s = on_4_by_2(P());
    CHECK(s.shard_shape(shape) == shape);
    for (const auto& [device, index] : s.devices_indices_map(shape))
      CHECK(index == lx::Box{{0, 8}, {0, 2}});
    CHECK(replica_ids(s) == Numbers{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(s.is_fully_replicated());
  }
}

TEST_CASE("a dimension that is not split has its full range") {
  const auto s = on_4_by_2(P(lx::none, "y"));
  CHECK(s.index(s.mesh().devices()[3], {5, 4, 3}) == lx::Box{{0, 5}, {2, 4}, {0, 3}});
  CHECK(s.factor(1) == 2);
  CHECK(s.factor(7) == 1);
}

TEST_CASE("scalars and empty arrays are laid out too") {
  CHECK(on_4_by_2(P()).index_at(5, {}).empty());
  CHECK(on_4_by_2(P("x")).index_at(5, {0, 3}) == lx::Box{{0, 0}, {0, 3}});
}

TEST_CASE("an unknown axis is an error that lists the known ones") {
  CHECK(contains(message_of<lx::ArgumentError>([] { on_4_by_2(P("z")); }),
                 {"'z'", "hint: ", "[x, y]"}));
}

TEST_CASE("more entries than dimensions is an error with both numbers") {
  const auto s = on_4_by_2(P("x", "y"));
  CHECK(contains(message_of<lx::ArgumentError>([&] { s.check({8}); }),
                 {"P(x, y) has 2 entries, the array [8] has 1 dimensions", "hint: "}));
  CHECK_THROWS_AS(s.shard_shape({}), lx::ArgumentError);
}

TEST_CASE("a dimension that its axes do not divide is an error, never replicated") {
  const auto s = on_4_by_2(P(lx::none, lx::axes("y", "x")));
  auto expect = [](const std::string& text) {
    return contains(text, {"dimension 1", "size 12", "[8, 12]", "by 8", "y=2, x=4", "hint: "});
  };
  CHECK(expect(message_of<lx::ArgumentError>([&] { s.check({8, 12}); })));
  CHECK(expect(message_of<lx::ArgumentError>([&] { (void)s.shard_shape({8, 12}); })));
  CHECK(expect(message_of<lx::ArgumentError>([&] { (void)s.index_at(0, {8, 12}); })));
  CHECK(expect(message_of<lx::ArgumentError>([&] { (void)s.devices_indices_map({8, 12}); })));
  CHECK(contains(message_of<lx::ArgumentError>(
                     [&] { lx::NamedSharding(mesh_of({3}, {"data"}), P("data")).check({64}); }),
                 {"size 64", "by 3", "data=3"}));
}

TEST_CASE("devices and positions outside of the mesh are errors") {
  const auto s = on_4_by_2(P("x"));
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)s.index({.id = 8}, {8}); }),
                 {"device 8", "hint: "}));
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)s.replica_id({.id = 8}); }),
                 {"device 8", "hint: "}));
  CHECK(contains(message_of<lx::IndexError>([&] { (void)s.index_at(8, {8}); }),
                 {"position 8 of 8", "hint: "}));
  CHECK(contains(message_of<lx::IndexError>([&] { (void)s.replica_id_at(8); }),
                 {"position 8 of 8", "hint: "}));
  CHECK(contains(message_of<lx::IndexError>([&] { (void)s.shard_number_at(8); }),
                 {"position 8 of 8", "hint: "}));
}

TEST_CASE("every device's rows are its own under every_device") {
  const auto mesh = mesh_of({4, 2}, {"data", "model"});
  CHECK(lx::every_device(mesh) == P(lx::axes("data", "model")));
  const lx::NamedSharding s{mesh, lx::every_device(mesh)};
  CHECK(s.num_shards() == 8);
  CHECK(starts(s, {64, 3}, 0) == Numbers{0, 8, 16, 24, 32, 40, 48, 56});
}

TEST_CASE("shardings are replicated or addressable in full, or not") {
  CHECK(lx::NamedSharding(mesh_of({1, 8}, {"x", "y"}), P("x")).is_fully_replicated());
  CHECK_FALSE(on_4_by_2(P("x")).is_fully_replicated());
  CHECK(on_4_by_2(P("x")).is_fully_addressable());
  const lx::SimulatedTopology two{
      {.nodes = 2, .devices_per_node = 4, .processes = lx::Processes::per_node}};
  CHECK_FALSE(lx::NamedSharding({lx::create_device_mesh({8}, two), {"x"}, 0}, P("x"))
                  .is_fully_addressable());
}

TEST_CASE("shardings are equivalent where the same devices hold the same parts") {
  const auto a = on_4_by_2(P("x", "y"));
  CHECK(a.is_equivalent_to(a, 2));
  // Other names, a mesh that is factored otherwise, axes of size 1.
  CHECK(a.is_equivalent_to({mesh_of({4, 2}, {"p", "q"}), P("p", "q")}, 2));
  CHECK(on_4_by_2(P(lx::axes("x", "y"))).is_equivalent_to({mesh_of({8}, {"d"}), P("d")}, 1));
  CHECK(on_4_by_2(P("x")).is_equivalent_to(
      {mesh_of({2, 2, 2}, {"a", "b", "c"}), P(lx::axes("a", "b"))}, 3));
}

TEST_CASE("axes of size 1 do not matter to equivalence") {
  const auto mesh = mesh_of({4, 1, 2}, {"a", "one", "b"});
  CHECK(on_4_by_2(P("x")).is_equivalent_to({mesh, P(lx::axes("a", "one"))}, 2));
  CHECK(on_4_by_2(P("x", "y")).is_equivalent_to({mesh, P("a", "b", "one")}, 3));
  CHECK(on_4_by_2(P()).is_equivalent_to({mesh, P("one")}, 2));
}

TEST_CASE("other parts or another device order is not equivalent") {
  const auto a = on_4_by_2(P("x", "y"));
  CHECK_FALSE(a.is_equivalent_to(on_4_by_2(P("y", "x")), 2));
  CHECK_FALSE(a.is_equivalent_to(on_4_by_2(P(lx::axes("x", "y"))), 2));
  CHECK_FALSE(
      on_4_by_2(P(lx::axes("x", "y"))).is_equivalent_to(on_4_by_2(P(lx::axes("y", "x"))), 2));
  CHECK_FALSE(on_4_by_2(P("x")).is_equivalent_to(on_4_by_2(P(lx::none, "x")), 2));
  std::vector<lx::Device> devices(a.mesh().devices().begin(), a.mesh().devices().end());
  std::swap(devices[0], devices[1]);
  CHECK_FALSE(
      a.is_equivalent_to({lx::Mesh{lx::DeviceGrid({4, 2}, devices), {"x", "y"}}, P("x", "y")}, 2));
  CHECK_FALSE(a.is_equivalent_to({mesh_of({4, 2, 2}, {"x", "y", "z"}), P("x", "y")}, 2));
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)a.is_equivalent_to(a, 1); }),
                 {"P(x, y) has 2 entries for arrays of 1 dimensions", "hint: "}));
}

TEST_CASE("shardings are equal by mesh and spec") {
  CHECK(on_4_by_2(P("x")) == on_4_by_2(P("x", lx::none)));
  CHECK_FALSE(on_4_by_2(P("x")) == on_4_by_2(P("y")));
  CHECK_FALSE(on_4_by_2(P("x")) == lx::NamedSharding(mesh_of({4, 2}, {"x", "z"}), P("x")));
  CHECK(to_string(on_4_by_2(P("x"))) == "P(x) on (x=4, y=2)");
}

TEST_CASE("the map of devices to indices is a lazy random-access range") {
  const auto map = on_4_by_2(P("x")).devices_indices_map({8});
  static_assert(std::ranges::random_access_range<decltype(map)>);
  CHECK(map.size() == 8);
  CHECK(map[6].device.id == 6);
  CHECK(map[6].index == lx::Box{{6, 8}});
  CHECK((map.begin() + 6 - map.begin()) == 6);
}

namespace {

struct Case {
  lx::Mesh mesh;
  P spec;
  lx::Shape shape;
};

// A mesh of up to 4 axes, a spec over some of them, and a shape that it divides.
Case random_case(lx::CounterRandom& random) {
  std::vector<std::int64_t> sizes(random.below(5));
  std::vector<std::string> names;
  for (auto& size : sizes) {
    size = 1 + static_cast<std::int64_t>(random.below(4));
    names.push_back("axis" + std::to_string(names.size()));
  }
  std::vector<std::size_t> axes(sizes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = i;
  for (std::size_t i = axes.size(); i > 1; --i) std::swap(axes[i - 1], axes[random.below(i)]);

  std::vector<lx::Axes> entries(random.below(4));
  auto shape = lx::Shape::filled(entries.size(), 1);
  for (const std::size_t axis : axes) {
    const std::size_t d = random.below(entries.size() + 1);
    if (d == entries.size()) continue;
    entries[d].names.push_back(names[axis]);
    shape[d] *= static_cast<std::size_t>(sizes[axis]);
  }
  for (auto& size : shape) size *= 1 + random.below(3);
  return {mesh_of(sizes, names), P(std::vector<P::Entry>(entries.begin(), entries.end())), shape};
}

}  // namespace

TEST_CASE("shards tile the array once for each replica, and replicas are numbered in mesh order") {
  const auto seed = loadax_test::seed();
  INFO("LOADAX_TEST_SEED=" << seed);
  lx::CounterRandom random{seed};
  for (int round = 0; round < 300; ++round) {
    const auto [mesh, spec, shape] = random_case(random);
    const lx::NamedSharding sharding{mesh, spec};
    const lx::Shape shard = sharding.shard_shape(shape);
    const std::size_t replicas = mesh.size() / sharding.num_shards();

    std::map<Numbers, std::size_t> seen;    // part -> how many devices held it so far
    std::map<Numbers, std::size_t> number;  // part -> its number
    std::vector<std::size_t> cover(lx::element_count(shape), 0);
    for (std::size_t at = 0; at < mesh.size(); ++at) {
      const lx::Box box = sharding.index(mesh.devices()[at], shape);
      REQUIRE(box == sharding.index_at(at, shape));
      REQUIRE(lx::box_shape(box) == shard);
      Numbers key;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        REQUIRE(box[d].stop <= shape[d]);
        // The definition: mixed radix over the dimension's axes, the first one major.
        std::size_t block = 0;
        if (d < spec.entries().size())
          for (const auto& name : spec.entries()[d].names())
            block = block * static_cast<std::size_t>(mesh.axis_size(name)) +
                    static_cast<std::size_t>(mesh.coordinate(at, mesh.axis(name)));
        REQUIRE(box[d].start == block * shard[d]);
        key.push_back(block);
      }
      REQUIRE(sharding.replica_id_at(at) == seen[key]++);
      number.try_emplace(key, sharding.shard_number_at(at));
      REQUIRE(number[key] == sharding.shard_number_at(at));

      for (std::size_t e = 0; e < cover.size(); ++e) {
        std::size_t rest = e;
        bool inside = true;
        for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
          const std::size_t i = rest % shape[d];
          inside = inside && i >= box[d].start && i < box[d].stop;
        }
        cover[e] += inside;
      }
    }
    REQUIRE(seen.size() == sharding.num_shards());
    for (const auto& [key, count] : seen) REQUIRE(count == replicas);
    for (const std::size_t count : cover) REQUIRE(count == replicas);
    std::size_t next = 0;
    for (const auto& [key, n] : number) REQUIRE(n == next++);  // keys ascend row-major
  }
}

TEST_CASE("equivalence of random shardings is that of their maps") {
  const auto seed = loadax_test::seed();
  INFO("LOADAX_TEST_SEED=" << seed);
  lx::CounterRandom random{seed, lx::RandomStream::user, 1};
  int equivalent = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto a = random_case(random), b = random_case(random);
    const lx::NamedSharding left{a.mesh, a.spec}, right{b.mesh, b.spec};
    const lx::Shape shape{6912, 6912, 6912};
    bool same = a.mesh.size() == b.mesh.size();
    for (std::size_t at = 0; same && at < a.mesh.size(); ++at)
      same = left.index_at(at, shape) == right.index_at(at, shape);
    REQUIRE(left.is_equivalent_to(right, 3) == same);
    REQUIRE(right.is_equivalent_to(left, 3) == same);
    equivalent += same;
  }
  CHECK(equivalent > 10);
}

TEST_CASE("a sharding that was moved from is still there") {
  auto sharding = on_4_by_2(P("x", "y"));
  const lx::NamedSharding moved = std::move(sharding);
  CHECK(sharding == moved);
  CHECK(sharding.shard_shape({8, 2}) == lx::Shape{2, 1});
}

TEST_CASE("a spec of more entries than an array can have dimensions is an error") {
  const P long_spec(std::vector<P::Entry>{lx::none, lx::none, lx::none, lx::none, lx::none,
                                          lx::none, lx::none, lx::none, "x"});
  CHECK(contains(message_of<lx::NotSupportedError>([&] { on_4_by_2(long_spec); }),
                 {"9 values, where at most 8", "hint: "}));
}
