// DDP in one page: y = w x learns to reproduce its input on 8 simulated devices.
#include <array>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <fmt/core.h>

#include <loadax/loadax.hpp>

namespace lx = loadax;
using lx::P;

constexpr float learning_rate = 0.1f;

using Example = std::array<float, 1>;

/// What one device does with its copy of w and its rows of the batch.
float train_step(lx::DeviceContext& ctx, const lx::View<float>& w,
                 const lx::Batch<Example, lx::ConstView>& batch) {
  const auto rows = get<0>(batch).values();
  float loss = 0, gradient = 0;
  for (const float x : rows) {
    const float error = w.values()[0] * x - x;
    loss += error * error / static_cast<float>(rows.size());
    gradient += 2 * error * x / static_cast<float>(rows.size());
  }
  w.values()[0] -= learning_rate * ctx.pmean(gradient, "data");
  return ctx.pmean(loss, "data");
}

int main(int argc, char**) {
  if (argc > 1) {
    fmt::print(stderr, "ddp_linear takes no arguments; fsdp_digits and ddp_digits do\n");
    return 2;
  }
  std::vector<Example> numbers(100);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = {static_cast<float>(i)};
  const auto dataset = lx::SimpleDataset{numbers}.shuffle(0).map(
      [](const Example& x) { return Example{x[0] / 100}; });
  lx::Dataloader loader{dataset, {.batch_size = 8, .drop_last = true}};

  const lx::SimulatedTopology topology{{.nodes = 1, .devices_per_node = 8}};
  const auto config = lx::make_ddp_mesh_config(topology, {"data"}, {.batch_axis_names = {"data"}});
  const lx::Mesh mesh = config.create_device_mesh(topology);
  const lx::MeshScope scope{mesh};

  auto w = lx::host_to_global_device_array(lx::HostArray<float>(lx::Shape{1}, {0.5f}),
                                           lx::DataPartitionType::replicated);
  auto step = lx::shard_map(mesh, {P(), P("data")}, P(), train_step);

  float loss = 0;
  for (int epoch = 0; epoch < 10; ++epoch) {
    for (const auto& local_batch : loader) {
      const auto global_batch = lx::host_to_global_device_array(local_batch);
      const auto sharded_batch = lx::with_sharding_constraint(global_batch, P("data"));
      loss = step(lx::inout(w), sharded_batch);
    }
    fmt::print("epoch {}: loss {:.2e}\n", epoch + 1, loss);
  }
  fmt::print("ddp_linear: devices={} loss={:.2e} w={:.4f}\n", mesh.size(), loss,
             lx::global_to_host_array(w).values()[0]);
}
