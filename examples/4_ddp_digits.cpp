// DDP trains a two-layer network on handwritten digits: every device has all parameters and rows
// of its own, gradients are averaged. The step itself is in digits/ddp.hpp.
#include <cmath>
#include <cstdint>
#include <exception>
#include <stdexcept>

#include <fmt/core.h>

#include <loadax/loadax.hpp>

#include "digits/dataset.hpp"
#include "digits/ddp.hpp"
#include "digits/model.hpp"
#include "digits/options.hpp"
#include "digits/report.hpp"

namespace lx = loadax;

int main(int argc, char** argv) try {
  const auto options = digits::parse(argc, argv, "DDP training on the handwritten digits");

  const lx::SimulatedTopology topology{
      {.nodes = options.nodes, .devices_per_node = options.devices}};
  const auto config = lx::make_ddp_mesh_config(topology, {"data"});
  const lx::Mesh mesh = config.create_device_mesh(topology);
  const lx::MeshScope scope{mesh};
  const auto rows = lx::P("data"), replicated = lx::P();

  const auto scans = digits::read_scans(options.data);
  const auto test_set = digits::test_set<float>(scans);
  lx::ShardedDataloader loader{
      digits::train_set<float>(scans, options.seed),
      rows,
      {.global_batch_size = options.batch_size, .epochs = options.epochs, .num_workers = 2}};

  auto state = lx::host_to_global_device_array(digits::initial_state<float>(options.seed),
                                               lx::DataPartitionType::replicated);
  const auto train_step =
      lx::shard_map(mesh, {replicated, rows}, replicated, digits::DdpStep<float>(options.lr));
  const auto count_correct =
      lx::shard_map(mesh, {replicated, rows}, replicated, digits::DdpCountCorrect<float>());

  digits::print_mesh(mesh);
  digits::print_sharding("a batch of images", {options.batch_size, digits::pixels},
                         loader.sharding());
  digits::print_footprint("parameters", state.params);

  const lx::ProgressBar bar;
  double loss = 0, accuracy = 0;
  for (auto epoch : loader.epochs()) {
    double losses = 0;
    for (const auto& batch : epoch) {
      losses += train_step(lx::inout(state), batch);
      bar.draw(loader.progress());
    }
    loss = losses / static_cast<double>(loader.progress().batches_total);

    // 297 images do not fill the last batch: it is padded, and the padding is masked.
    std::int64_t correct = 0;
    lx::ShardedDataloader test_loader{
        test_set, rows, {.global_batch_size = options.batch_size, .tail = lx::Tail::pad}};
    for (auto pass : test_loader.epochs())
      for (const auto& batch : pass) correct += count_correct(state.params, batch);
    accuracy = static_cast<double>(correct) / static_cast<double>(test_set.size());

    bar.clear();
    fmt::print("epoch {:3}  loss {:.4f}  test accuracy {:.4f}\n", epoch.index() + 1, loss,
               accuracy);
  }
  if (!std::isfinite(loss))
    throw std::runtime_error(fmt::format("the loss is {}: try a smaller --lr", loss));
  fmt::print("ddp_digits: devices={} mesh={} epochs={} loss={:.4f} test_accuracy={:.4f}\n",
             mesh.size(), digits::axis_sizes(mesh), options.epochs, loss, accuracy);
} catch (const std::exception& error) {
  fmt::print(stderr, "ddp_digits: {}\n", error.what());
  return 1;
}
