#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <loadax/device/simulated_topology.hpp>
#include <loadax/mesh/create_device_mesh.hpp>
#include <loadax/placement/array.hpp>
#include <loadax/placement/global_to_host_array.hpp>
#include <loadax/placement/host_to_global_device_array.hpp>
#include <loadax/placement/with_sharding_constraint.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

namespace {

/// Memory that the processor cannot read, as far as arrays know.
class FarMemory final : public lx::DeviceMemory {
 public:
  bool is_host() const noexcept override { return false; }
  lx::Event copy_in(const lx::StridedCopy& copy, lx::Stream*) override { return run(copy); }
  lx::Event copy_out(const lx::StridedCopy& copy, lx::Stream*) override { return run(copy); }
  lx::Event copy_between(const lx::StridedCopy& copy, lx::DeviceMemory&, lx::Stream*) override {
    return run(copy);
  }

 private:
  static lx::Event run(const lx::StridedCopy& copy) {
    lx::run_on_host(copy);
    return {};
  }
  void* do_allocate(std::size_t bytes) override {
    return ::operator new(bytes, std::align_val_t{64});
  }
  void do_deallocate(void* data, std::size_t) noexcept override {
    ::operator delete(data, std::align_val_t{64});
  }
};

template <template <class> class Leaf>
struct Params {
  Leaf<int> w, b;
};

lx::Mesh mesh_of(int devices) {
  const lx::SimulatedTopology topology{{.nodes = 1, .devices_per_node = devices}};
  return {lx::create_device_mesh(lx::MeshShape{devices}, topology), {"data"}};
}

}  // namespace

TEST_CASE("an array is a shared handle to its shards", "[placement]") {
  lx::MeshScope scope{mesh_of(4)};
  const lx::HostArray<int> host({8}, {0, 1, 2, 3, 4, 5, 6, 7});
  auto array = lx::host_to_global_device_array(host, lx::P("data"));
  CHECK_FALSE(array.is_shared());
  const auto copy = array;
  CHECK(array.is_shared());
  CHECK(copy.addressable_shards()[2].data == array.addressable_shards()[2].data);
  const auto& shard = array.addressable_shards()[2];
  CHECK(shard.device.id == 2);
  CHECK(shard.index == lx::Box{{4, 6}});
  CHECK(shard.shape == lx::Shape{2});
  CHECK(shard.replica_id == 0);
  CHECK(shard.values()[1] == 5);
  CHECK(array.shape() == lx::Shape{8});
}

TEST_CASE("an array keeps its runtime and memory alive", "[placement]") {
  lx::Array<int> array;
  std::weak_ptr<lx::Runtime> runtime;
  {
    const auto mine = std::make_shared<lx::Runtime>();
    runtime = mine;
    lx::MeshScope scope{mesh_of(2), mine};
    array = lx::host_to_global_device_array(lx::HostArray<int>({2}, {5, 6}));
  }
  CHECK_FALSE(runtime.expired());
  CHECK(array.addressable_shards()[1].values()[0] == 6);
  array = {};
  CHECK(runtime.expired());
}

TEST_CASE("an empty array says so", "[placement]") {
  const lx::Array<float> none;
  CHECK_FALSE(none.has_value());
  CHECK(contains(message_of<lx::StateError>([&] { (void)none.shape(); }),
                 {"an empty Array was used", "hint:"}));
}

TEST_CASE("arrays work over memory that the processor cannot read; views of it do not",
          "[placement]") {
  const auto runtime = std::make_shared<lx::Runtime>(
      lx::InProcessCommunicator(), [](const lx::Device&) { return std::make_shared<FarMemory>(); });
  lx::MeshScope scope{mesh_of(2), runtime};
  const auto array = lx::host_to_global_device_array(lx::HostArray<int>({2}, {5, 6}));
  CHECK(contains(
      message_of<lx::NotSupportedError>([&] { (void)array.addressable_shards()[0].values(); }),
      {"not in host memory", "hint:"}));
}

TEST_CASE("an array that was moved from is an empty one", "[placement]") {
  lx::MeshScope scope{mesh_of(2)};
  auto array = lx::host_to_global_device_array(lx::HostArray<int>({2}, {5, 6}));
  const auto moved = std::move(array);
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { (void)array.shape(); }, [&] { (void)array.mesh(); },
           [&] { (void)array.addressable_shards(); }, [&] { (void)array.is_shared(); },
           [&] { (void)lx::global_to_host_array(array); },
           [&] { (void)lx::with_sharding_constraint(array, lx::P()); }})
    CHECK(contains(message_of<lx::StateError>(use), {"an empty Array was used", "hint: assign"}));
  CHECK(moved.has_value());
}

TEST_CASE("an empty array among others is named", "[placement]") {
  lx::MeshScope scope{mesh_of(2)};
  const Params<lx::Array> arrays{
      .w = lx::host_to_global_device_array(lx::HostArray<int>({2}, {5, 6})), .b = {}};
  const auto expected = [](const std::string& text) {
    return contains(text, {"leaf 'b': an empty Array was used", "hint: assign"});
  };
  CHECK(expected(message_of<lx::StateError>([&] { (void)lx::global_to_host_array(arrays); })));
  CHECK(expected(
      message_of<lx::StateError>([&] { (void)lx::with_sharding_constraint(arrays, lx::P()); })));
}

TEST_CASE("an array is what its sharding says, or is refused", "[placement]") {
  lx::MeshScope scope{mesh_of(2)};
  const auto& mesh = lx::current_mesh();
  const auto array = lx::host_to_global_device_array(lx::HostArray<int>({2}, {5, 6}));
  const lx::NamedSharding split = array.sharding(), whole(mesh, lx::P());
  CHECK(array.with_sharding(split).addressable_shards()[1].data ==
        array.addressable_shards()[1].data);
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)array.with_sharding(whole); }),
                 {"an array that lies as P(data) on (data=2) does not lie as P() on (data=2)",
                  "hint: move it"}));
  CHECK(contains(message_of<lx::ArgumentError>(
                     [&] { (void)array.with_sharding({mesh, lx::P(lx::none, "data")}); }),
                 {"P(none, data) has 2 entries for arrays of 1 dimensions", "hint:"}));
  const std::vector<lx::Shard<int>> shards(array.addressable_shards().begin(),
                                           array.addressable_shards().end());
  CHECK(contains(message_of<lx::ArgumentError>(
                     [&] { lx::Array<int>({2}, split, {shards[0]}, array.runtime()); }),
                 {"an Array of 1 shards, with a runtime, on a mesh of 2 local devices", "hint:"}));
  CHECK(
      contains(message_of<lx::ArgumentError>([&] { lx::Array<int>({2}, split, shards, nullptr); }),
               {"an Array of 2 shards, without a runtime, on a mesh of 2 local devices", "hint:"}));
}
