// FSDP in one page: y = relu(x w1 + b1) w2 learns to reproduce its input on 8 simulated devices.
#include <array>
#include <cstddef>
#include <cstdio>
#include <tuple>
#include <vector>

#include <Eigen/Core>
#include <fmt/core.h>

#include <loadax/loadax.hpp>

namespace lx = loadax;
using lx::none, lx::P;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::size_t hidden = 32;
constexpr float learning_rate = 0.1f;

using Example = std::array<float, 1>;

/// One array for each parameter: on the host, over the mesh, or one device's part of it.
template <template <class> class Leaf>
struct Params {
  Leaf<float> w1, b1, w2;  // [1, hidden], [hidden], [hidden, 1]
};

/// Every parameter is split along its hidden units.
const Params<lx::SpecOf> param_specs{.w1 = P(none, "model"), .b1 = P("model"), .w2 = P("model")};

Params<lx::HostArray> initial_params() {
  Params<lx::HostArray> params{.w1 = lx::HostArray<float>({1, hidden}),
                               .b1 = lx::HostArray<float>(lx::Shape{hidden}),
                               .w2 = lx::HostArray<float>({hidden, 1})};
  lx::CounterRandom random{0};
  for (float& w : params.w1.values()) w = static_cast<float>(random.uniform());
  for (float& w : params.w2.values()) w = static_cast<float>(random.uniform() - 0.5) / 4;
  return params;
}

auto matrix(const lx::View<const float>& view, std::size_t rows) {
  return Eigen::Map<const Matrix>(view.data(), static_cast<Eigen::Index>(rows),
                                  static_cast<Eigen::Index>(view.size() / rows));
}

/// What one device does with the shards that it owns and its rows of the batch.
float train_step(lx::DeviceContext& ctx, const Params<lx::View>& params,
                 const lx::Batch<Example, lx::ConstView>& batch) {
  // All-gather the parameters: whole until the step returns.
  const auto w1 = matrix(ctx.all_gather(params.w1, "model", {.axis = 1, .tiled = true}), 1);
  const auto b1 = matrix(ctx.all_gather(params.b1, "model", {.tiled = true}), 1);
  const auto w2 = matrix(ctx.all_gather(params.w2, "model", {.tiled = true}), hidden);

  // The mean squared error over this device's rows, and its gradient.
  const std::size_t rows = get<0>(batch).shape()[0];
  const auto x = matrix(get<0>(batch), rows);
  const Matrix h = ((x * w1).rowwise() + b1.row(0)).cwiseMax(0.0f);
  const Matrix error = h * w2 - x;
  const Matrix dy = error * (2.0f / static_cast<float>(rows));
  const Matrix dh = ((h.array() > 0).cast<float>() * (dy * w2.transpose()).array()).matrix();
  Matrix dw1 = x.transpose() * dh, db1 = dh.colwise().sum(), dw2 = h.transpose() * dy;

  // Average over the devices, each of which keeps and updates the part that it owns.
  const auto update = [&](const lx::View<float>& owned, Matrix& gradient, std::size_t dimension) {
    lx::Shape shape = owned.shape();
    shape[dimension] = hidden;
    const auto mine =
        ctx.pmean(ctx.psum_scatter(lx::View<const float>(gradient.data(), shape), "model",
                                   {.scatter_dimension = dimension, .tiled = true}),
                  "data");
    const float scale = learning_rate / static_cast<float>(ctx.axis_size("model"));
    for (std::size_t i = 0; i < owned.size(); ++i) owned.data()[i] -= scale * mine.data()[i];
  };
  update(params.w1, dw1, 1);
  update(params.b1, db1, 0);
  update(params.w2, dw2, 0);
  return ctx.pmean(error.squaredNorm() / static_cast<float>(rows), lx::axes("data", "model"));
}

int main(int argc, char**) {
  if (argc > 1) {
    fmt::print(stderr, "fsdp_relu takes no arguments; fsdp_digits and ddp_digits do\n");
    return 2;
  }
  std::vector<Example> numbers(100);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = {static_cast<float>(i)};
  const auto dataset = lx::SimpleDataset{numbers}.shuffle(0).map(
      [](const Example& x) { return Example{x[0] / 100}; });
  lx::Dataloader loader{dataset, {.batch_size = 8, .drop_last = true}};

  const lx::SimulatedTopology topology{{.nodes = 1, .devices_per_node = 8}};
  const auto config =
      lx::make_fsdp_mesh_config(topology, {"data", "model"}, {.batch_axis_names = {"data"}});
  const lx::Mesh mesh = config.create_device_mesh(topology);
  const lx::MeshScope scope{mesh};

  auto params = lx::host_to_global_device_array(initial_params(), param_specs);
  auto step = lx::shard_map(mesh, std::tuple{param_specs, P("data")}, P(), train_step);

  float loss = 0;
  for (int epoch = 0; epoch < 50; ++epoch) {
    for (const auto& local_batch : loader) {
      const auto global_batch = lx::host_to_global_device_array(local_batch);
      const auto sharded_batch = lx::with_sharding_constraint(global_batch, P("data"));
      loss = step(lx::inout(params), sharded_batch);
    }
    if (epoch % 10 == 9) fmt::print("epoch {}: loss {:.2e}\n", epoch + 1, loss);
  }
  fmt::print("fsdp_relu: devices={} loss={:.2e}\n", mesh.size(), loss);
}
