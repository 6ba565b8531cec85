// What a sharded loader's messages say, word for word.
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <loadax/core/log.hpp>
#include <loadax/data/simple_dataset.hpp>
#include <loadax/device/simulated_topology.hpp>
#include <loadax/feed/sharded_dataloader.hpp>
#include <loadax/mesh/create_device_mesh.hpp>
#include <loadax/placement/runtime.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/meshes.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::mesh_of;
using loadax_test::message_of;

namespace {

struct Example {
  std::array<float, 4> image;
  int label;
};

lx::ShardedDataloader<lx::SimpleDataset<Example>> loader(const lx::PartitionSpec& spec) {
  return {lx::SimpleDataset{std::vector<Example>(8)}, spec, {.global_batch_size = 4}};
}

/// Host memory that says that it is none.
class FarMemory final : public lx::DeviceMemory {
 public:
  bool is_host() const noexcept override { return false; }
  lx::Event copy_in(const lx::StridedCopy&, lx::Stream*) override { return {}; }
  lx::Event copy_out(const lx::StridedCopy&, lx::Stream*) override { return {}; }
  lx::Event copy_between(const lx::StridedCopy&, lx::DeviceMemory&, lx::Stream*) override {
    return {};
  }

 private:
  void* do_allocate(std::size_t) override { throw std::bad_alloc(); }
  void do_deallocate(void*, std::size_t) noexcept override {}
};

}  // namespace

TEST_CASE("a sharded loader that was moved from says so", "[feed]") {
  lx::MeshScope scope{mesh_of({2}, {"data"})};
  auto first = loader(lx::P("data"));
  const auto second = std::move(first);
  for (const auto& use : std::vector<std::function<void()>>{[&] { (void)first.epochs(); },
                                                            [&] { (void)first.progress(); },
                                                            [&] { (void)first.sharding(); }})
    CHECK(contains(message_of<lx::StateError>(use),
                   {"a moved-from ShardedDataloader was used", "hint: use the one"}));
}

TEST_CASE("a sharded loader needs devices of this process in host memory", "[feed]") {
  const lx::SimulatedTopology topology{{.devices_per_node = 2}};
  {
    lx::MeshScope scope{lx::Mesh{lx::create_device_mesh({2}, topology), {"data"}, 3}};
    CHECK(contains(message_of<lx::StateError>([] { loader(lx::P("data")); }),
                   {"ShardedDataloader: process 3 has no device in the mesh", "hint: only"}));
  }
  const auto far = std::make_shared<lx::Runtime>(
      lx::InProcessCommunicator(), [](const lx::Device&) { return std::make_shared<FarMemory>(); });
  lx::MeshScope scope{mesh_of({2}, {"data"}), far};
  CHECK(
      contains(message_of<lx::NotSupportedError>([] { loader(lx::P("data")); }),
               {"ShardedDataloader: a device whose memory is not the host's", "hint: load with"}));
}

TEST_CASE("a spec that does not suit a field of the batch names the field", "[feed]") {
  lx::MeshScope scope{mesh_of({2, 2}, {"data", "model"})};
  auto both = loader(lx::P("data", "model"));
  const auto epochs = both.epochs();
  const auto epoch = *epochs.begin();
  const auto before = lx::set_log_sink([](lx::LogLevel, std::string_view) {});
  CHECK(contains(message_of<lx::ArgumentError>([&] { (void)*epoch.begin(); }),
                 {"field 'label': P(data, model) has 2 entries, the array [4] has 1", "hint: "}));
  lx::set_log_sink(before);
}
