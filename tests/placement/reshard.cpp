#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <loadax/device/simulated_topology.hpp>
#include <loadax/mesh/create_device_mesh.hpp>
#include <loadax/placement/global_to_host_array.hpp>
#include <loadax/placement/host_to_global_device_array.hpp>
#include <loadax/placement/with_sharding_constraint.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

namespace {

template <template <class> class Leaf>
struct Params {
  Leaf<std::int32_t> w, b;
};

lx::Mesh mesh_of(lx::MeshShape<> shape, lx::AxisNames<> names) {
  const auto devices = static_cast<int>(lx::device_count(shape));
  const lx::SimulatedTopology topology{{.nodes = 1, .devices_per_node = devices}};
  return {lx::create_device_mesh(shape, topology), std::move(names)};
}

lx::HostArray<std::int32_t> counting(const lx::Shape& shape) {
  lx::HostArray<std::int32_t> array(shape);
  std::iota(array.values().begin(), array.values().end(), 0);
  return array;
}

std::uint64_t bytes_moved(const lx::Mesh& mesh, const lx::P& from, const lx::P& to,
                          const lx::Shape& shape) {
  return lx::plan_reshard(lx::NamedSharding(mesh, from), lx::NamedSharding(mesh, to), shape, 4)
      .bytes_moved();
}

/// The least: what each device's target has that its source has not, element by element.
std::uint64_t least_bytes(const lx::NamedSharding& from, const lx::NamedSharding& to,
                          const lx::Shape& shape) {
  std::uint64_t elements = 0;
  for (const auto& device : to.mesh().devices()) {
    const auto wanted = to.index(device, shape), held = from.index(device, shape);
    std::uint64_t all = 1, both = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      all *= wanted[d].size();
      const auto start = std::max(wanted[d].start, held[d].start);
      const auto stop = std::min(wanted[d].stop, held[d].stop);
      both *= stop > start ? stop - start : 0;
    }
    elements += all - both;
  }
  return elements * 4;
}

void check_shards(const lx::Array<std::int32_t>& array) {
  const auto& shape = array.shape();
  for (const auto& shard : array.addressable_shards())
    for (std::size_t i = 0; i < shard.values().size(); ++i) {
      std::size_t rest = i, flat = 0, stride = 1;
      for (std::size_t d = shape.size(); d-- > 0;) {
        flat += (shard.index[d].start + rest % shard.shape[d]) * stride;
        rest /= shard.shape[d];
        stride *= shape[d];
      }
      REQUIRE(shard.values()[i] == static_cast<std::int32_t>(flat));
    }
}

}  // namespace

TEST_CASE("a constraint that changes nothing keeps the buffers", "[placement]") {
  const auto mesh = mesh_of({1, 4}, {"data", "model"});
  lx::MeshScope scope{mesh};
  const auto array = lx::host_to_global_device_array(counting({8, 2}), lx::P("model"));
  for (const auto& spec : {lx::P("model"), lx::P("model", lx::none),
                           lx::P(lx::axes("data", "model")), lx::P("model", "data")}) {
    const auto same = lx::with_sharding_constraint(array, lx::NamedSharding(mesh, spec));
    CHECK(same.sharding() == lx::NamedSharding(mesh, spec));
    for (std::size_t k = 0; k < 4; ++k)
      CHECK(same.addressable_shards()[k].data == array.addressable_shards()[k].data);
  }
  const auto moved = lx::with_sharding_constraint(array, lx::P(lx::none, lx::none));
  CHECK(moved.addressable_shards()[0].data != array.addressable_shards()[0].data);
}

TEST_CASE("a constraint is checked on one device too", "[placement]") {
  lx::MeshScope scope{mesh_of({1}, {"data"})};
  const auto array = lx::host_to_global_device_array(counting({3}), lx::P());
  CHECK(contains(
      message_of<lx::ArgumentError>([&] { lx::with_sharding_constraint(array, lx::P("model")); }),
      {"model", "data"}));
  CHECK(contains(message_of<lx::ArgumentError>(
                     [&] { lx::with_sharding_constraint(array, lx::P(lx::none, "data")); }),
                 {"2 entries"}));
}

TEST_CASE("a constraint that does not divide names the leaf", "[placement]") {
  lx::MeshScope scope{mesh_of({4}, {"data"})};
  const Params<lx::HostArray> host{counting({4}), counting({6})};
  const auto arrays = lx::host_to_global_device_array(host, lx::P());
  CHECK(contains(
      message_of<lx::ArgumentError>([&] { lx::with_sharding_constraint(arrays, lx::P("data")); }),
      {"leaf 'b'", "dimension 0", "6", "4", "data", "hint:"}));
  const auto each =
      lx::with_sharding_constraint(arrays, Params<lx::SpecOf>{.w = lx::P("data"), .b = lx::P()});
  CHECK(each.w.addressable_shards()[2].values()[0] == 2);
  CHECK(each.b.addressable_shards()[2].data == arrays.b.addressable_shards()[2].data);
}

TEST_CASE("no mesh in scope is an error", "[placement]") {
  lx::Array<std::int32_t> array;
  {
    lx::MeshScope scope{mesh_of({2}, {"data"})};
    array = lx::host_to_global_device_array(counting({2}));
  }
  CHECK(contains(message_of<lx::StateError>([&] { lx::with_sharding_constraint(array, lx::P()); }),
                 {"no mesh in scope", "hint:"}));
  CHECK_NOTHROW(lx::with_sharding_constraint(array, array.sharding()));
}

// The numbers are those of the collective that each case is: an all-gather over g devices moves
// (g - 1) shards into each, a local slice nothing, an all-to-all (g - 1)/g of a shard, a permute
// the shards of the devices that change places.
TEST_CASE("patterns move the bytes of their collective", "[placement]") {
  const auto square = mesh_of({4, 4}, {"x", "y"});
  const lx::Shape shape{16, 16};
  const std::uint64_t bytes = 16 * 16 * 4;
  CHECK(bytes_moved(square, lx::P("x", "y"), lx::P("x", "y"), shape) == 0);
  // Drop a trailing axis: all-gather.
  CHECK(bytes_moved(square, lx::P("x", "y"), lx::P("x"), shape) == 16 * 3 * (bytes / 16));
  // Add one: local slice.
  CHECK(bytes_moved(square, lx::P("x"), lx::P("x", "y"), shape) == 0);
  // Move it from one dimension to another: all-to-all.
  CHECK(bytes_moved(square, lx::P("x"), lx::P(lx::none, "x"), shape) == 16 * (bytes / 4) * 3 / 4);
  // [x],[y] -> [y],[x] with equal sizes: one permute of all but the diagonal's shards.
  CHECK(bytes_moved(square, lx::P("x", "y"), lx::P("y", "x"), shape) == 12 * (bytes / 16));
  // [x],[] -> [],[y]: slice y, gather x.
  CHECK(bytes_moved(square, lx::P("x"), lx::P(lx::none, "y"), shape) == 16 * 3 * (bytes / 4) / 4);
  const auto cube = mesh_of({2, 2, 2}, {"x", "y", "z"});
  // [xyz] -> [x]: one gather of y and z.
  CHECK(bytes_moved(cube, lx::P(lx::axes("x", "y", "z")), lx::P("x"), shape) ==
        8 * 3 * (bytes / 8));
  // (4, 2) mesh, P(y, -, x) -> P(-, (x, y), -): never more than what is missing.
  const auto tall = mesh_of({4, 2}, {"x", "y"});
  const lx::NamedSharding from(tall, lx::P("y", lx::none, "x"));
  const lx::NamedSharding to(tall, lx::P(lx::none, lx::axes("x", "y")));
  const lx::Shape box{8, 8, 8};
  CHECK(lx::plan_reshard(from, to, box, 4).bytes_moved() == least_bytes(from, to, box));
  CHECK(least_bytes(from, to, box) == 8 * (64 - 8) * 4);
}

TEST_CASE("any sharding to any other, any axis order, gives the same array and moves the least",
          "[placement]") {
  const auto seed = loadax_test::seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t round = 0; round < loadax_test::scaled(300); ++round) {
    std::vector<std::int64_t> sizes;
    std::vector<std::string> names;
    const std::size_t rank = 1 + below(3);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      sizes.push_back(static_cast<std::int64_t>(1 + below(4)));
      names.push_back(std::string(1, static_cast<char>('a' + axis)));
    }
    // The same devices in two meshes, the second's order shuffled.
    const auto devices = static_cast<int>(lx::device_count(lx::MeshShape(sizes)));
    const lx::SimulatedTopology topology{{.nodes = 1, .devices_per_node = devices}};
    std::vector<lx::Device> order(topology.devices().begin(), topology.devices().end());
    const lx::Mesh first{lx::create_device_mesh(lx::MeshShape(sizes), order),
                         lx::AxisNames<>(names)};
    if (below(2) == 0)
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(i)]);
    const lx::Mesh second{lx::create_device_mesh(lx::MeshShape(sizes), order),
                          lx::AxisNames<>(names)};
    const std::size_t dimensions = 1 + below(3);
    lx::Shape shape;
    for (std::size_t d = 0; d < dimensions; ++d)
      shape.push_back(static_cast<std::size_t>(devices) * (below(8) == 0 ? 0 : 1));
    const auto draw = [&](const lx::Mesh& mesh) {
      std::vector<lx::Axes> axes(dimensions);
      auto left = names;
      while (!left.empty()) {
        const auto at = below(left.size());
        if (below(4) > 0) axes[below(dimensions)].names.push_back(left[at]);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
      }
      return lx::NamedSharding(
          mesh, lx::PartitionSpec(std::vector<lx::PartitionSpec::Entry>(axes.begin(), axes.end())));
    };
    const auto from = draw(first), to = draw(second);
    INFO(lx::to_string(from) << " -> " << lx::to_string(to));
    lx::MeshScope scope{first};
    const auto host = counting(shape);
    const auto array = lx::host_to_global_device_array(host, from.spec());
    const auto moved = lx::with_sharding_constraint(array, to);
    REQUIRE(moved.sharding() == to);
    check_shards(moved);
    REQUIRE(lx::global_to_host_array(moved) == host);
    REQUIRE(lx::plan_reshard(from, to, shape, 4).bytes_moved() == least_bytes(from, to, shape));
    const auto back = lx::with_sharding_constraint(moved, from);
    check_shards(back);
  }
}

TEST_CASE("the transfers into a shard cover it exactly once", "[placement]") {
  const auto mesh = mesh_of({2, 3}, {"x", "y"});
  const lx::NamedSharding from(mesh, lx::P("y", "x")), to(mesh, lx::P("x", "y"));
  const lx::Shape shape{12, 12};
  const auto plan = lx::plan_reshard(from, to, shape, 1);
  for (std::size_t target = 0; target < mesh.size(); ++target) {
    std::vector<int> covered(144, 0);
    for (const auto& [source, box] : plan.transfers_into(target)) {
      const auto held = from.index_at(source, shape);
      for (std::size_t d = 0; d < 2; ++d) {
        CHECK(box[d].start >= held[d].start);
        CHECK(box[d].stop <= held[d].stop);
      }
      for (auto i = box[0].start; i < box[0].stop; ++i)
        for (auto j = box[1].start; j < box[1].stop; ++j) ++covered[i * 12 + j];
    }
    const auto wanted = to.index_at(target, shape);
    for (std::size_t i = 0; i < 12; ++i)
      for (std::size_t j = 0; j < 12; ++j) {
        const bool inside = i >= wanted[0].start && i < wanted[0].stop && j >= wanted[1].start &&
                            j < wanted[1].stop;
        CHECK(covered[i * 12 + j] == (inside ? 1 : 0));
      }
  }
}

TEST_CASE("a plan for a million devices is made without devices", "[placement]") {
  const lx::SimulatedTopology topology{{.nodes = 131072, .devices_per_node = 8}};
  const lx::Mesh mesh{lx::create_device_mesh(lx::MeshShape{131072, 8}, topology),
                      {"data", "model"}};
  const lx::NamedSharding from(mesh, lx::P("model", "data")), to(mesh, lx::P("model"));
  const lx::Shape shape{64, 131072};
  const auto plan = lx::plan_reshard(from, to, shape, 4);
  CHECK(plan.transfers_into(77).size() == 131072);
  CHECK(plan.transfers_into(77)[5].source == 5 * 8 + 77 % 8);
}

TEST_CASE("different devices, and data in other processes, are errors", "[placement]") {
  const auto four = mesh_of({4}, {"data"}), two = mesh_of({2}, {"data"});
  lx::MeshScope scope{four};
  const auto array = lx::host_to_global_device_array(counting({4}));
  CHECK(contains(message_of<lx::ArgumentError>(
                     [&] { lx::with_sharding_constraint(array, lx::NamedSharding(two, lx::P())); }),
                 {"resharding between different devices: a mesh of 4 and a mesh of 2", "hint:"}));
  const lx::SimulatedTopology eight{{.nodes = 1, .devices_per_node = 8}};
  const lx::Mesh others{lx::create_device_mesh(lx::MeshShape{4}, eight.devices().subspan(4)),
                        {"data"}};
  CHECK(
      contains(message_of<lx::ArgumentError>([&] {
                 lx::with_sharding_constraint(array, lx::NamedSharding(others, lx::P()));
               }),
               {"resharding between different devices: device 4 is not in the old mesh", "hint:"}));
  const lx::SimulatedTopology topology{
      {.nodes = 2, .devices_per_node = 2, .processes = lx::Processes::per_node}};
  const lx::Mesh spread{lx::create_device_mesh(lx::MeshShape{4}, topology), {"data"}};
  lx::MeshScope inner{spread};
  const auto part = lx::host_to_global_device_array(counting({4}));
  CHECK(part.shape() == lx::Shape{8});
  CHECK(contains(
      message_of<lx::NotSupportedError>([&] { lx::with_sharding_constraint(part, lx::P()); }),
      {"resharding from P(data) to P() moves data between processes", "hint:"}));
  const Params<lx::Array> leaves{part, part};
  CHECK(contains(
      message_of<lx::NotSupportedError>([&] { lx::with_sharding_constraint(leaves, lx::P()); }),
      {"leaf 'w': resharding from P(data) to P()", "hint:"}));
}

TEST_CASE("a plan refuses shapes and elements that it cannot count", "[placement]") {
  const auto mesh = mesh_of({4}, {"data"});
  const lx::NamedSharding split(mesh, lx::P("data")), whole(mesh, lx::P());
  const auto text_for = [&](const lx::Shape& shape, std::size_t itemsize) {
    return message_of<lx::ArgumentError>(
        [&] { (void)lx::plan_reshard(split, whole, shape, itemsize).bytes_moved(); });
  };
  const std::size_t big = std::size_t{1} << 33;
  CHECK(contains(text_for({8}, 0), {"resharding the array [8] of 0-byte elements", "hint:"}));
  CHECK(contains(text_for({big, big}, 4),
                 {"shape [8589934592, 8589934592] has more than 2^64 elements", "hint:"}));
  CHECK(contains(
      text_for({std::size_t{1} << 62}, 4),
      {"shape [4611686018427387904] of 4-byte elements has more than 2^64 bytes", "hint:"}));
  CHECK(contains(text_for({big, big / 8}, 1),
                 {"resharding the array [8589934592, 1073741824] from P(data) to P() moves more "
                  "than 2^64 bytes",
                  "hint:"}));
  CHECK(contains(text_for({6}, 4), {"dimension 0 of size 6 of the array [6]", "by 4", "hint:"}));
  CHECK(contains(message_of<lx::IndexError>(
                     [&] { (void)lx::plan_reshard(split, whole, {8}, 4).transfers_into(4); }),
                 {"mesh position 4 of 4", "hint:"}));
}
