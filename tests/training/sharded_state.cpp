// FSDP is FSDP: what each device holds between and within steps, and what moves between devices.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "digits/dataset.hpp"
#include "digits/fsdp.hpp"
#include "digits/model.hpp"
#include "support/catch.hpp"

namespace lx = loadax;

namespace {

constexpr std::size_t item = sizeof(double);
constexpr std::size_t w1 = digits::pixels * digits::hidden_units, b1 = digits::hidden_units;
constexpr std::size_t w2 = digits::hidden_units * digits::classes, b2 = digits::classes;
constexpr std::size_t global_rows = 64;

/// A mesh with memory of its own, so that what is counted is what a test has put there.
struct Training {
  Training(int nodes, int devices) : topology({.nodes = nodes, .devices_per_node = devices}) {}

  lx::Batch<digits::Digit<double>, lx::Array> batch() const {
    const auto scans = digits::read_scans(std::string(LOADAX_SOURCE_DIR) + "/examples/data");
    const lx::Dataloader loader{digits::train_set<double>(scans, 0), {.batch_size = global_rows}};
    for (const auto& local : loader) return lx::host_to_global_device_array(local);
    return {};
  }

  auto step() const {
    return lx::shard_map(mesh, std::tuple{specs, lx::every_device(mesh)}, lx::P(),
                         digits::FsdpStep<double>(specs.params, 0.1));
  }

  lx::DeviceMemory& memory(std::size_t position) const {
    return *runtime->memory(mesh.devices()[position]);
  }

  /// Elements that one device holds of a parameter of `size` elements in `rows` rows.
  std::size_t owned(std::size_t size, std::size_t rows) const {
    return rows % model == 0 ? size / model : size;
  }
  std::size_t owned_params() const {
    return owned(w1, digits::pixels) + owned(b1, b1) + owned(w2, digits::hidden_units) +
           owned(b2, b2);
  }

  lx::SimulatedTopology topology;
  lx::Mesh mesh =
      lx::make_fsdp_mesh_config(topology, {"data", "model"}).create_device_mesh(topology);
  std::shared_ptr<lx::Runtime> runtime = std::make_shared<lx::Runtime>();
  lx::MeshScope scope{mesh, runtime};
  std::size_t model = static_cast<std::size_t>(mesh.axis_size("model"));
  std::size_t data = static_cast<std::size_t>(mesh.axis_size("data"));
  digits::Mlp<double>::State<lx::HostArray> host = digits::initial_state<double>(0);
  digits::Mlp<double>::State<lx::SpecOf> specs = digits::fsdp_specs(host, mesh);
};

/// Bytes that the devices of one group read in a psum: everything from everyone, or in place (and
/// where it is large), each one its part from everyone and everyone's sums.
std::size_t psum_bytes(std::size_t elements, std::size_t members, bool in_place) {
  const std::size_t bytes = elements * item;
  const bool in_parts = in_place || (bytes >= (std::size_t{1} << 15) && members > 2);
  return (in_parts ? 2 : members) * (members - 1) * bytes;
}

}  // namespace

TEST_CASE("between steps each device holds its shards of parameters and velocity, nothing else") {
  const auto [nodes, devices] = GENERATE(std::pair(1, 8), std::pair(2, 4), std::pair(4, 2));
  const Training training(nodes, devices);
  auto state = lx::host_to_global_device_array(training.host, training.specs);
  const std::size_t shards = 2 * training.owned_params() * item;
  const auto check = [&] {
    for (std::size_t i = 0; i < training.mesh.size(); ++i)
      CHECK(training.memory(i).bytes_in_use() == shards);
  };
  check();
  if (training.model == 8) CHECK(shards == 2 * (1024 + 16 + 160 + 10) * item);
  CHECK(shards < 2 * (w1 + b1 + w2 + b2) * item * 6 / 10);

  const auto step = training.step();
  for (int i = 0; i < 3; ++i) step(lx::inout(state), training.batch());
  check();
}

TEST_CASE("within a step a device holds its shards and one layer more") {
  const auto [nodes, devices] = GENERATE(std::pair(1, 8), std::pair(2, 4), std::pair(4, 2));
  const Training training(nodes, devices);
  auto state = lx::host_to_global_device_array(training.host, training.specs);
  const auto batch = training.batch();
  const auto step = training.step();
  step(lx::inout(state), batch);

  std::vector<std::size_t> resident;
  for (std::size_t i = 0; i < training.mesh.size(); ++i) {
    resident.push_back(training.memory(i).bytes_in_use());
    training.memory(i).reset_peak();
  }
  step(lx::inout(state), batch);

  const std::size_t rows = global_rows / training.mesh.size();
  const std::size_t activations = rows * (2 * digits::hidden_units + digits::classes) * item;
  for (std::size_t i = 0; i < training.mesh.size(); ++i) {
    const std::size_t layers = training.memory(i).peak_bytes() - resident[i] - activations;
    // The hidden layer, gathered or its gradient, which is scattered in place: below the shards
    // and the two largest layers.
    CHECK(layers == (w1 + b1) * item);
  }
}

TEST_CASE("a step moves each layer once to gather it and once to scatter its gradient") {
  const auto [nodes, devices] = GENERATE(std::pair(1, 8), std::pair(2, 4), std::pair(4, 2));
  const Training training(nodes, devices);
  auto state = lx::host_to_global_device_array(training.host, training.specs);
  const auto batch = training.batch();
  auto step = training.step();
  step(lx::inout(state), batch);
  step.reset_traffic();
  constexpr std::size_t steps = 3;
  for (std::size_t i = 0; i < steps; ++i) step(lx::inout(state), batch);

  const std::size_t n = training.mesh.size(), model = training.model, data = training.data;
  const bool shards_b2 = b2 % model == 0;
  const std::size_t sharded = w1 + b1 + w2 + (shards_b2 ? b2 : 0);
  const std::size_t sharded_leaves = shards_b2 ? 4 : 3;
  // Each device reads the others' shards, and the others' parts of what it owns of the gradient.
  const std::size_t once = n * (model - 1) * (sharded / model) * item;
  const lx::Traffic traffic = step.traffic();
  CHECK(traffic[lx::Collective::all_gather].bytes == steps * once);
  CHECK(traffic[lx::Collective::all_gather].calls == steps * n * sharded_leaves);
  CHECK(traffic[lx::Collective::psum_scatter].bytes == steps * once);
  CHECK(traffic[lx::Collective::psum_scatter].calls == steps * n * sharded_leaves);

  // Over all devices: the loss and a replicated gradient once; what is owned, in each "data" group.
  std::size_t sums = psum_bytes(1, n, false), calls = 1;
  if (!shards_b2) {
    sums += psum_bytes(b2, n, true);
    ++calls;
  }
  for (const std::size_t leaf : {w1, b1, w2}) sums += model * psum_bytes(leaf / model, data, true);
  if (shards_b2) sums += model * psum_bytes(b2 / model, data, true);
  calls += sharded_leaves;
  CHECK(traffic[lx::Collective::psum].bytes == steps * sums);
  CHECK(traffic[lx::Collective::psum].calls == steps * n * calls);
}
