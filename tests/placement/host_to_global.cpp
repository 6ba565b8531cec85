#include <cstddef>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <loadax/device/simulated_topology.hpp>
#include <loadax/mesh/create_device_mesh.hpp>
#include <loadax/placement/global_to_host_array.hpp>
#include <loadax/placement/host_to_global_device_array.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/meshes.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

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

}  // namespace

TEST_CASE("FULL gives each device rows of its own, row-major over all mesh axes", "[placement]") {
  lx::MeshScope scope{mesh_of({2, 4}, {"data", "model"})};
  const auto array = lx::host_to_global_device_array(counting({16, 3}));
  CHECK(array.shape() == lx::Shape{16, 3});
  for (std::size_t k = 0; k < 8; ++k) {
    const auto& shard = array.addressable_shards()[k];
    CHECK(shard.index == lx::Box{{2 * k, 2 * k + 2}, {0, 3}});
    CHECK(shard.values()[0] == static_cast<float>(6 * k));
  }
}

TEST_CASE("REPLICATED gives each device everything", "[placement]") {
  lx::MeshScope scope{mesh_of({2, 2}, {"data", "model"})};
  const auto host = counting({3, 5});
  const auto array = lx::host_to_global_device_array(host, lx::DataPartitionType::replicated);
  for (const auto& shard : array.addressable_shards()) {
    CHECK(std::ranges::equal(shard.values(), host.values()));
    CHECK(shard.shape == lx::Shape{3, 5});
  }
  CHECK(array.addressable_shards()[3].replica_id == 3);
  CHECK(lx::global_to_host_array(array) == host);
}

TEST_CASE("a spec splits any dimension", "[placement]") {
  lx::MeshScope scope{mesh_of({4, 2}, {"x", "y"})};
  const auto host = counting({8, 2});
  const auto array = lx::host_to_global_device_array(host, lx::P("x", "y"));
  CHECK(array.addressable_shards()[3].index == lx::Box{{2, 4}, {1, 2}});
  CHECK(array.addressable_shards()[3].values()[0] == 5.0f);
  CHECK(array.addressable_shards()[3].values()[1] == 7.0f);
}

TEST_CASE("structures keep their form", "[placement]") {
  lx::MeshScope scope{mesh_of({4}, {"model"})};
  const Params<lx::HostArray> host{counting({8, 2}), counting({4})};
  const auto whole = lx::host_to_global_device_array(host, lx::P("model"));
  static_assert(std::is_same_v<decltype(whole), const Params<lx::Array>>);
  CHECK(whole.b.addressable_shards()[3].values()[0] == 3.0f);
  const auto each =
      lx::host_to_global_device_array(host, Params<lx::SpecOf>{.w = lx::P("model"), .b = lx::P()});
  CHECK(each.w.addressable_shards()[1].shape == lx::Shape{2, 2});
  CHECK(each.b.addressable_shards()[1].shape == lx::Shape{4});
  const auto named = lx::host_to_global_device_array(
      std::map<std::string, lx::HostArray<float>>{{"w", counting({4})}});
  static_assert(std::is_same_v<decltype(named), const std::map<std::string, lx::Array<float>>>);
  const auto pair = lx::host_to_global_device_array(std::tuple{host, counting({4})},
                                                    std::tuple{lx::P("model"), lx::P()});
  CHECK(std::get<1>(pair).sharding().is_fully_replicated());
  const auto back = lx::global_to_host_array(each);
  CHECK(back.w == host.w);
  CHECK(back.b == host.b);
}

TEST_CASE("64 rows over 3 devices are an error that says what would do", "[placement]") {
  lx::MeshScope scope{mesh_of({3}, {"data"})};
  CHECK(contains(
      message_of<lx::ArgumentError>([] { lx::host_to_global_device_array(counting({64, 2})); }),
      {"dimension 0 of size 64 does not divide into the 3 blocks that the devices of process 0",
       "hint: give a multiple of 3"}));
  const Params<lx::HostArray> host{counting({6}), counting({64})};
  CHECK(contains(message_of<lx::ArgumentError>([&] { lx::host_to_global_device_array(host); }),
                 {"leaf 'b'", "dimension 0", "64"}));
}

TEST_CASE("misuse of host_to_global_device_array", "[placement]") {
  CHECK(contains(message_of<lx::StateError>([] { lx::host_to_global_device_array(counting({4})); }),
                 {"no mesh in scope", "hint:", "MeshScope"}));
  lx::MeshScope scope{mesh_of({2, 2}, {"data", "model"})};
  const Params<lx::HostArray> host{counting({4}), counting(lx::Shape{})};
  CHECK(contains(
      message_of<lx::ArgumentError>([&] { lx::host_to_global_device_array(host); }),
      {"leaf 'b': a scalar has no rows to split over the devices", "hint:", "replicated"}));
  CHECK_NOTHROW(lx::host_to_global_device_array(host, lx::DataPartitionType::replicated));
  CHECK(contains(message_of<lx::ArgumentError>(
                     [&] { lx::host_to_global_device_array(counting({4}), lx::P("dat")); }),
                 {"dat", "data", "model"}));
  CHECK(contains(message_of<lx::ArgumentError>([&] {
                   lx::host_to_global_device_array(counting({4}), lx::P("data", "model"));
                 }),
                 {"P(data, model) has 2 entries, the array [4] has 1 dimensions", "hint:"}));
  using Named = std::map<std::string, lx::HostArray<float>>;
  using Specs = std::map<std::string, lx::P>;
  const Named named{{"w", counting({4})}};
  CHECK(contains(
      message_of<lx::ArgumentError>([&] { lx::host_to_global_device_array(named, Specs{}); }),
      {"no entry 'w' in the structure that goes with it", "hint:"}));
  CHECK(contains(message_of<lx::ArgumentError>([&] {
                   lx::host_to_global_device_array(named, Specs{{"w", lx::P()}, {"v", lx::P()}});
                 }),
                 {"an entry 'v' that the structure it goes with does not have", "hint:"}));
}

TEST_CASE("the round trip is exact for any mesh, spec and shape", "[placement]") {
  const auto seed = loadax_test::seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t round = 0; round < loadax_test::scaled(300); ++round) {
    std::vector<std::int64_t> sizes;
    std::vector<std::string> names;
    const std::size_t rank = 1 + below(3);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      sizes.push_back(static_cast<std::int64_t>(1 + below(3)));
      names.push_back(std::string(1, static_cast<char>('a' + axis)));
    }
    const auto mesh = mesh_of(lx::MeshShape(sizes), lx::AxisNames<>(names));
    lx::MeshScope scope{mesh};
    const std::size_t dimensions = below(4);
    std::vector<lx::Axes> axes(dimensions);
    if (dimensions > 0)
      for (std::size_t axis = 0; axis < rank; ++axis)
        if (below(3) > 0) axes[below(dimensions)].names.push_back(names[axis]);
    std::vector<lx::PartitionSpec::Entry> entries(axes.begin(), axes.end());
    lx::Shape shape;
    for (std::size_t d = 0; d < dimensions; ++d) {
      std::size_t factor = 1;
      for (const auto& name : axes[d].names)
        factor *= static_cast<std::size_t>(mesh.axis_size(name));
      shape.push_back(factor * below(3));
    }
    const auto host = counting(shape);
    const auto array = lx::host_to_global_device_array(host, lx::PartitionSpec(entries));
    REQUIRE(array.shape() == shape);
    REQUIRE(lx::global_to_host_array(array) == host);
    for (const auto& shard : array.addressable_shards()) {
      // Each element of a shard is the one that its index says.
      for (std::size_t i = 0; i < shard.values().size(); ++i) {
        std::size_t rest = i, flat = 0, stride = 1;
        for (std::size_t d = shape.size(); d-- > 0;) {
          flat += (shard.index[d].start + rest % shard.shape[d]) * stride;
          rest /= shard.shape[d];
          stride *= shape[d];
        }
        REQUIRE(shard.values()[i] == static_cast<float>(flat));
      }
    }
  }
}

TEST_CASE("large arrays are placed by the devices' threads, to the same result", "[placement]") {
  lx::MeshScope scope{mesh_of({2, 4}, {"data", "model"})};
  const auto host = counting({1024, 256});
  const auto array = lx::host_to_global_device_array(host, lx::P("model", "data"));
  CHECK(lx::global_to_host_array(array) == host);
}
