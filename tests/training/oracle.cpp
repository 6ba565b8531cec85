// The training that the examples do, in double, against two witnesses from outside: a JAX program
// (tests/golden/digits_training.py) and a one-device program in Eigen alone.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "digits/dataset.hpp"
#include "digits/ddp.hpp"
#include "digits/fsdp.hpp"
#include "digits/model.hpp"
#include "support/catch.hpp"
#include "training/eigen_reference.hpp"

namespace lx = loadax;

namespace {

const std::string data = std::string(LOADAX_SOURCE_DIR) + "/examples/data";

struct Run {
  std::vector<double> losses;
  double test_accuracy = 0;
  digits::Mlp<double>::Params<lx::HostArray> params;
};

struct Setting {
  std::uint64_t seed = 0, epochs = 5;
  std::size_t batch_size = 64;
  double lr = 0;
};

/// What training gives, from a placed state and two steps.
template <class State, class Step, class CountCorrect>
Run train(const Setting& setting, const lx::Mesh& mesh, State state, const Step& step,
          const CountCorrect& count_correct) {
  const auto scans = digits::read_scans(data);
  const auto test_set = digits::test_set<double>(scans);
  const auto every_device = lx::every_device(mesh);
  lx::ShardedDataloader loader{
      digits::train_set<double>(scans, setting.seed),
      every_device,
      {.global_batch_size = setting.batch_size, .epochs = setting.epochs, .num_workers = 2}};
  Run run;
  for (auto epoch : loader.epochs()) {
    double sum = 0, batches = 0;
    for (const auto& batch : epoch) {
      sum += step(lx::inout(state), batch);
      ++batches;
    }
    run.losses.push_back(sum / batches);
  }
  lx::ShardedDataloader test_loader{
      test_set, every_device, {.global_batch_size = 64, .tail = lx::Tail::pad}};
  std::int64_t correct = 0;
  for (auto pass : test_loader.epochs())
    for (const auto& batch : pass) correct += count_correct(state.params, batch);
  run.test_accuracy = static_cast<double>(correct) / static_cast<double>(test_set.size());
  run.params = lx::global_to_host_array(state.params);
  return run;
}

Run train_fsdp(const Setting& setting, int nodes, int devices) {
  const lx::SimulatedTopology topology{{.nodes = nodes, .devices_per_node = devices}};
  const auto mesh =
      lx::make_fsdp_mesh_config(topology, {"data", "model"}).create_device_mesh(topology);
  const lx::MeshScope scope{mesh};
  const auto host = digits::initial_state<double>(setting.seed);
  const auto specs = digits::fsdp_specs(host, mesh);
  return train(setting, mesh, lx::host_to_global_device_array(host, specs),
               lx::shard_map(mesh, std::tuple{specs, lx::every_device(mesh)}, lx::P(),
                             digits::FsdpStep<double>(specs.params, setting.lr)),
               lx::shard_map(mesh, std::tuple{specs.params, lx::every_device(mesh)}, lx::P(),
                             digits::FsdpCountCorrect<double>(specs.params)));
}

Run train_ddp(const Setting& setting, int nodes, int devices) {
  const lx::SimulatedTopology topology{{.nodes = nodes, .devices_per_node = devices}};
  const auto mesh = lx::make_ddp_mesh_config(topology).create_device_mesh(topology);
  const lx::MeshScope scope{mesh};
  const auto host = digits::initial_state<double>(setting.seed);
  return train(
      setting, mesh, lx::host_to_global_device_array(host, lx::P()),
      lx::shard_map(mesh, {lx::P(), lx::P("data")}, lx::P(), digits::DdpStep<double>(setting.lr)),
      lx::shard_map(mesh, {lx::P(), lx::P("data")}, lx::P(), digits::DdpCountCorrect<double>()));
}

nlohmann::json golden() {
  std::ifstream file(std::string(LOADAX_SOURCE_DIR) + "/tests/golden/digits_training.json");
  REQUIRE(file);
  return nlohmann::json::parse(file);
}

Setting golden_setting() {
  const auto json = golden();
  return {json.at("seed"), json.at("epochs"), json.at("batch_size"), json.at("lr")};
}

/// The largest relative difference between elements; infinite where a number is not finite.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  REQUIRE(!a.empty());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]) / std::abs(b[i]);
    if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
    most = std::max(most, difference);
  }
  return most;
}

double sum_of_squares(const lx::HostArray<double>& leaf) {
  double sum = 0;
  for (const double v : leaf.values()) sum += v * v;
  return sum;
}

eigen_reference::Outcome train_eigen(const Setting& setting) {
  const std::size_t train_rows = golden().at("train_rows");
  const auto state = digits::initial_state<double>(setting.seed);
  const auto plain = [](const auto& array) {
    return std::vector<double>(array.values().begin(), array.values().end());
  };
  eigen_reference::Task task{.images_file = data + "/digits-images.idx3-ubyte",
                             .labels_file = data + "/digits-labels.idx1-ubyte",
                             .train_rows = train_rows,
                             .hidden = digits::hidden_units,
                             .classes = digits::classes,
                             .batch_size = setting.batch_size,
                             .lr = setting.lr,
                             .momentum = digits::momentum,
                             .orders = {},
                             .w1 = plain(state.params.hidden.w),
                             .w2 = plain(state.params.output.w)};
  for (std::uint64_t epoch = 0; epoch < setting.epochs; ++epoch) {
    const lx::IndexPermutation order(train_rows, setting.seed, epoch);
    auto& indices = task.orders.emplace_back();
    for (std::size_t i = 0; i < train_rows; ++i) indices.push_back(order(i));
  }
  return eigen_reference::train(task);
}

constexpr double tolerance = 1e-9;

}  // namespace

TEST_CASE("numbers that are not finite are far from all numbers") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(distance({1, -2}, {1, -4}) == 0.5);
  CHECK(distance({nan, 1}, {1, 1}) == infinity);
  CHECK(distance({1, 1}, {1, nan}) == infinity);
  CHECK(distance({infinity}, {infinity}) == infinity);
  CHECK(distance({1}, {infinity}) == infinity);
}

TEST_CASE("the witness in Eigen alone and the one in JAX agree") {
  const auto eigen = train_eigen(golden_setting());
  CHECK(distance(eigen.losses, golden().at("losses")) < tolerance);
  CHECK(eigen.test_accuracy == golden().at("test_accuracy").get<double>());
}

TEST_CASE("FSDP and DDP on eight devices give the losses of JAX and of Eigen on one device") {
  const auto setting = golden_setting();
  const std::vector<double> jax = golden().at("losses");
  const auto eigen = train_eigen(setting);
  const auto check = [&](const Run& run) {
    CHECK(distance(run.losses, jax) < tolerance);
    CHECK(distance(run.losses, eigen.losses) < tolerance);
    CHECK(run.test_accuracy == golden().at("test_accuracy").get<double>());
    const auto& [hidden, output] = run.params;
    const auto sums = golden().at("sums_of_squares");
    CHECK(distance({sum_of_squares(hidden.w), sum_of_squares(hidden.b), sum_of_squares(output.w),
                    sum_of_squares(output.b)},
                   {sums.at("w1"), sums.at("b1"), sums.at("w2"), sums.at("b2")}) < tolerance);
  };
  SECTION("FSDP, 1 node of 8 devices") { check(train_fsdp(setting, 1, 8)); }
  SECTION("FSDP, 2 nodes of 4 devices") { check(train_fsdp(setting, 2, 4)); }
  SECTION("FSDP, 4 nodes of 2 devices") { check(train_fsdp(setting, 4, 2)); }
  SECTION("DDP, 1 node of 8 devices") { check(train_ddp(setting, 1, 8)); }
  SECTION("DDP, 2 nodes of 4 devices") { check(train_ddp(setting, 2, 4)); }
}

TEST_CASE(
    "batches of this process's Dataloader, placed on the mesh, train as the ShardedDataloader") {
  auto setting = golden_setting();
  setting.epochs = 1;
  const auto sharded = train_fsdp(setting, 2, 4);

  const lx::SimulatedTopology topology{{.nodes = 2, .devices_per_node = 4}};
  const auto mesh =
      lx::make_fsdp_mesh_config(topology, {"data", "model"}).create_device_mesh(topology);
  const lx::MeshScope scope{mesh};
  const auto host = digits::initial_state<double>(setting.seed);
  const auto specs = digits::fsdp_specs(host, mesh);
  auto state = lx::host_to_global_device_array(host, specs);
  const auto step = lx::shard_map(mesh, std::tuple{specs, lx::every_device(mesh)}, lx::P(),
                                  digits::FsdpStep<double>(specs.params, setting.lr));
  const lx::Dataloader loader{digits::train_set<double>(digits::read_scans(data), setting.seed),
                              {.batch_size = setting.batch_size, .drop_last = true}};
  double sum = 0, batches = 0;
  for (const auto& local : loader.epoch(0)) {
    const auto global = lx::host_to_global_device_array(local);
    // Moved to "data" and, for the step, back to all axes.
    sum += step(lx::inout(state), lx::with_sharding_constraint(global, lx::P("data")));
    ++batches;
  }
  CHECK(sharded.losses == std::vector<double>{sum / batches});
  CHECK(lx::global_to_host_array(state.params.hidden.w) == sharded.params.hidden.w);
}

TEST_CASE("two runs of one layout are bitwise equal") {
  auto setting = golden_setting();
  setting.epochs = 2;
  const auto same = [](const Run& a, const Run& b) {
    CHECK(a.losses == b.losses);
    CHECK(a.params.hidden.w == b.params.hidden.w);
    CHECK(a.params.hidden.b == b.params.hidden.b);
    CHECK(a.params.output.w == b.params.output.w);
    CHECK(a.params.output.b == b.params.output.b);
  };
  SECTION("FSDP") { same(train_fsdp(setting, 2, 4), train_fsdp(setting, 2, 4)); }
  SECTION("DDP") { same(train_ddp(setting, 1, 8), train_ddp(setting, 1, 8)); }
}
