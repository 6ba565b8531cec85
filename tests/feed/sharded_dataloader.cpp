#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <loadax/data/map.hpp>
#include <loadax/data/shuffle.hpp>
#include <loadax/data/simple_dataset.hpp>
#include <loadax/device/simulated_topology.hpp>
#include <loadax/feed/sharded_dataloader.hpp>
#include <loadax/mesh/create_device_mesh.hpp>
#include <loadax/placement/global_to_host_array.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/loading.hpp"
#include "support/meshes.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::mesh_of;
using loadax_test::message_of;
using loadax_test::numbers;

namespace {

struct Example {
  std::array<float, 4> image;
  std::int32_t label;
};

std::vector<Example> examples(std::size_t n) {
  std::vector<Example> result(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto v = static_cast<float>(i);
    result[i] = {{v, v + 0.25f, v + 0.5f, v + 0.75f}, static_cast<std::int32_t>(i)};
  }
  return result;
}

using Labels = std::vector<std::int32_t>;

/// The whole stream: for each batch the rows, -1 where the mask says that there is no sample.
template <class Dataset>
std::vector<Labels> stream(const Dataset& dataset, const lx::PartitionSpec& spec,
                           const lx::ShardedDataloaderOptions& options) {
  lx::ShardedDataloader loader{dataset, spec, options};
  std::vector<Labels> batches;
  for (auto epoch : loader.epochs())
    for (const auto& batch : epoch) {
      const auto host = lx::global_to_host_array(batch);
      const auto rows = host.template get<0>().values();
      Labels labels(rows.begin(), rows.end());
      if (host.has_mask())
        for (std::size_t r = 0; r < labels.size(); ++r) {
          if (host.mask().values()[r]) continue;
          if (labels[r] != 0) throw std::logic_error("a padded row is not zero");
          labels[r] = -1;
        }
      batches.push_back(std::move(labels));
    }
  return batches;
}

}  // namespace

TEST_CASE("rows of a global batch are those of the dataset, in order, on their devices", "[feed]") {
  lx::MeshScope scope{mesh_of({2, 2}, {"data", "model"})};
  lx::ShardedDataloader loader{lx::SimpleDataset{examples(20)},
                               lx::every_device(lx::current_mesh()),
                               {.global_batch_size = 8}};
  std::size_t first = 0;
  for (auto epoch : loader.epochs())
    for (const auto& batch : epoch) {
      CHECK(batch[&Example::image].shape() == lx::Shape{8, 4});
      CHECK(batch[&Example::label].shape() == lx::Shape{8});
      CHECK_FALSE(batch.has_mask());
      for (std::size_t k = 0; k < 4; ++k) {
        const auto& images = batch[&Example::image].addressable_shards()[k];
        const auto& labels = batch[&Example::label].addressable_shards()[k];
        for (std::size_t row = 0; row < 2; ++row) {
          const std::size_t sample = first + 2 * k + row;
          CHECK(labels.values()[row] == static_cast<std::int32_t>(sample));
          CHECK(images.values()[4 * row + 3] == static_cast<float>(sample) + 0.75f);
        }
      }
      first += 8;
    }
  CHECK(first == 16);
}

TEST_CASE("any spec of the batch: replicas get equal rows, a row may be split", "[feed]") {
  lx::MeshScope scope{mesh_of({2, 2}, {"data", "model"})};
  const auto check = [](const lx::PartitionSpec& spec) {
    std::vector<std::array<float, 4>> rows;
    for (const auto& example : examples(8)) rows.push_back(example.image);
    lx::ShardedDataloader loader{lx::SimpleDataset{rows}, spec, {.global_batch_size = 8}};
    std::size_t batches = 0;
    for (auto epoch : loader.epochs())
      for (const auto& batch : epoch) {
        ++batches;
        for (const auto& shard : batch.get<0>().addressable_shards())
          for (std::size_t i = 0; i < shard.values().size(); ++i) {
            const std::size_t row = shard.index[0].start + i / shard.shape[1];
            const std::size_t column = shard.index[1].start + i % shard.shape[1];
            REQUIRE(shard.values()[i] ==
                    static_cast<float>(row) + 0.25f * static_cast<float>(column));
          }
      }
    CHECK(batches == 1);
  };
  check(lx::P());
  check(lx::P("data"));
  check(lx::P("model"));
  check(lx::P("data", "model"));
  check(lx::P(lx::none, lx::axes("model", "data")));
  check(lx::P(lx::axes("model", "data")));
}

TEST_CASE("a spec that does not fit a field names it, when a batch is asked for", "[feed]") {
  lx::MeshScope scope{mesh_of({2, 2}, {"data", "model"})};
  const auto before = lx::set_log_sink([](lx::LogLevel, std::string_view) {});
  lx::ShardedDataloader loader{
      lx::SimpleDataset{examples(8)}, lx::P("data", "model"), {.global_batch_size = 8}};
  CHECK(contains(message_of<lx::ArgumentError>([&] {
                   for (auto epoch : loader.epochs())
                     for ([[maybe_unused]] const auto& batch : epoch) {
                     }
                 }),
                 {"field 'label'", "P(data, model)", "2 entries", "hint:"}));
  lx::set_log_sink(before);
}

TEST_CASE("which samples make up batch k depends on neither workers nor devices nor the mesh",
          "[feed]") {
  const auto dataset = numbers(103).shuffle(5);
  std::vector<Labels> expected;
  for (const auto tail : {lx::Tail::drop, lx::Tail::pad}) {
    expected.clear();
    for (const std::int64_t devices : {1, 2, 8}) {
      lx::MeshScope scope{mesh_of({devices}, {"data"})};
      for (const std::size_t workers : {0, 1, 2, 7}) {
        const auto batches =
            stream(dataset, lx::P("data"),
                   {.global_batch_size = 16, .epochs = 3, .num_workers = workers, .tail = tail});
        if (expected.empty()) expected = batches;
        REQUIRE(batches == expected);
      }
    }
    CHECK(expected.size() == (tail == lx::Tail::drop ? 18 : 21));
  }
  // Each epoch has each sample once, in an order of its own.
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    Labels all;
    for (std::size_t b = 0; b < 7; ++b)
      for (const auto label : expected[7 * epoch + b])
        if (label >= 0) all.push_back(label);
    std::ranges::sort(all);
    Labels each(103);
    for (std::size_t i = 0; i < 103; ++i) each[i] = static_cast<std::int32_t>(i);
    CHECK(all == each);
  }
  CHECK(expected[0] != expected[7]);
}

TEST_CASE("tails: all small sizes give whole batches, each sample once or dropped", "[feed]") {
  lx::MeshScope scope{mesh_of({2}, {"data"})};
  const auto before = lx::set_log_sink([](lx::LogLevel, std::string_view) {});
  for (std::size_t n = 0; n <= 13; ++n)
    for (const std::size_t size : {2, 4, 6})
      for (const auto tail : {lx::Tail::drop, lx::Tail::pad}) {
        INFO("n " << n << " batch " << size << " pad " << (tail == lx::Tail::pad));
        const auto batches = stream(numbers(n), lx::P("data"),
                                    {.global_batch_size = size, .epochs = 2, .tail = tail});
        const std::size_t of_epoch = tail == lx::Tail::drop ? n / size : (n + size - 1) / size;
        REQUIRE(batches.size() == 2 * of_epoch);
        for (std::size_t b = 0; b < batches.size(); ++b) {
          REQUIRE(batches[b].size() == size);
          for (std::size_t r = 0; r < size; ++r) {
            const std::size_t sample = b % of_epoch * size + r;
            REQUIRE(batches[b][r] == (sample < n ? static_cast<std::int32_t>(sample) : -1));
          }
        }
      }
  lx::set_log_sink(before);
}

TEST_CASE("a dataset that fills no batch is reported", "[feed]") {
  lx::MeshScope scope{mesh_of({2}, {"data"})};
  std::string warning;
  const auto before = lx::set_log_sink([&](lx::LogLevel level, std::string_view text) {
    if (level == lx::LogLevel::warning) warning = text;
  });
  CHECK(stream(numbers(3), lx::P("data"), {.global_batch_size = 4}).empty());
  lx::set_log_sink(before);
  CHECK(contains(warning, {"no batches", "3 samples", "4"}));
}

TEST_CASE("each process loads its own rows only, and together they load all", "[feed]") {
  std::map<std::int32_t, int> loads;
  std::size_t batches_of_first = 0;
  for (int me = 0; me < 2; ++me) {
    const lx::SimulatedTopology topology{{.nodes = 2,
                                          .devices_per_node = 2,
                                          .processes = lx::Processes::per_node,
                                          .process_index = me}};
    lx::MeshScope scope{lx::Mesh{lx::create_device_mesh(lx::MeshShape{4}, topology), {"data"}, me}};
    std::atomic<int> loaded{0};
    const auto counted = numbers(19).shuffle(3).map([&](std::int32_t v) {
      ++loaded;
      return v;
    });
    lx::ShardedDataloader loader{
        counted, lx::P("data"), {.global_batch_size = 8, .num_workers = 2, .tail = lx::Tail::pad}};
    std::size_t batches = 0;
    for (auto epoch : loader.epochs())
      for (const auto& batch : epoch) {
        ++batches;
        CHECK(batch.get<0>().shape() == lx::Shape{8});
        REQUIRE(batch.get<0>().addressable_shards().size() == 2);
        for (std::size_t k = 0; k < 2; ++k) {
          const auto& rows = batch.get<0>().addressable_shards()[k];
          const auto& mask = batch.mask().addressable_shards()[k];
          for (std::size_t r = 0; r < 2; ++r)
            if (mask.values()[r]) ++loads[rows.values()[r]];
        }
      }
    if (me == 0) batches_of_first = batches;
    CHECK(batches == batches_of_first);
    CHECK(loaded == (me == 0 ? 8 + 3 : 8));
  }
  CHECK(loads.size() == 19);
  CHECK(std::ranges::all_of(loads, [](const auto& entry) { return entry.second == 1; }));
}

TEST_CASE("batches that the program keeps are not overwritten; others' memory is used again",
          "[feed]") {
  const auto runtime = std::make_shared<lx::Runtime>();
  lx::MeshScope scope{mesh_of({2}, {"data"}), runtime};
  const auto memory = runtime->memory(lx::current_mesh().devices()[0]);
  std::vector<lx::Array<std::int32_t>> kept;
  lx::ShardedDataloader loader{numbers(4000),
                               lx::P("data"),
                               {.global_batch_size = 8, .num_workers = 2, .prefetch_factor = 2}};
  std::size_t most = 0, batches = 0;
  for (auto epoch : loader.epochs())
    for (const auto& batch : epoch) {
      if (batches++ % 100 == 7) kept.push_back(batch.get<0>());
      most = std::max(most, memory->bytes_in_use());
    }
  REQUIRE(kept.size() == 5);
  for (std::size_t i = 0; i < kept.size(); ++i)
    CHECK(lx::global_to_host_array(kept[i]).values()[5] ==
          static_cast<std::int32_t>((100 * i + 7) * 8 + 5));
  // 5 slots and 5 batches kept, of 4 rows of 4 bytes on the device.
  CHECK(most <= 10 * 16);
}

TEST_CASE("progress counts what was delivered, epoch by epoch", "[feed]") {
  lx::MeshScope scope{mesh_of({2}, {"data"})};
  lx::ShardedDataloader loader{
      numbers(11),
      lx::P("data"),
      {.global_batch_size = 4, .epochs = 2, .num_workers = 2, .tail = lx::Tail::pad}};
  CHECK(loader.progress().batches_processed == 0);
  std::vector<std::uint64_t> items;
  for (auto epoch : loader.epochs())
    for ([[maybe_unused]] const auto& batch : epoch) {
      const auto progress = loader.progress();
      CHECK(progress.epoch == epoch.index());
      CHECK(progress.items_total == 11);
      CHECK(progress.batches_total == 3);
      items.push_back(progress.items_processed);
    }
  CHECK(items == std::vector<std::uint64_t>{4, 8, 11, 4, 8, 11});
}

TEST_CASE("leaving an epoch early goes on with the next one, or with what is left", "[feed]") {
  lx::MeshScope scope{mesh_of({2}, {"data"})};
  lx::ShardedDataloader loader{
      numbers(12), lx::P("data"), {.global_batch_size = 4, .epochs = 3, .num_workers = 2}};
  std::vector<std::pair<std::uint64_t, std::int32_t>> seen;
  for (auto epoch : loader.epochs()) {
    for (const auto& batch : epoch) {
      seen.emplace_back(epoch.index(), lx::global_to_host_array(batch.get<0>()).values()[0]);
      break;
    }
    if (epoch.index() == 1) break;
  }
  for (auto epoch : loader.epochs())
    for (const auto& batch : epoch)
      seen.emplace_back(epoch.index(), lx::global_to_host_array(batch.get<0>()).values()[0]);
  // Breaking out of a loop leaves the batch that it was at as the current one.
  CHECK(seen == std::vector<std::pair<std::uint64_t, std::int32_t>>{
                    {0, 0}, {1, 0}, {1, 0}, {1, 4}, {1, 8}, {2, 0}, {2, 4}, {2, 8}});
}

TEST_CASE("an exception comes at its own batch, as it was, and the stream goes on", "[feed]") {
  lx::MeshScope scope{mesh_of({2}, {"data"})};
  const auto before = lx::set_log_sink([](lx::LogLevel, std::string_view) {});
  for (const std::size_t workers : {0, 1, 2, 7}) {
    const auto failing = numbers(16).map([](std::int32_t v) {
      if (v == 9) throw std::domain_error("sample 9");
      return v;
    });
    lx::ShardedDataloader loader{
        failing, lx::P("data"), {.global_batch_size = 4, .num_workers = workers}};
    Labels firsts;
    for (auto epoch : loader.epochs())
      for (auto it = epoch.begin(); it != epoch.end(); ++it) {
        try {
          firsts.push_back(lx::global_to_host_array(it->get<0>()).values()[0]);
        } catch (const std::domain_error&) {
          firsts.push_back(-9);
          REQUIRE(it.failure() != nullptr);
          CHECK(it.failure()->sample == 9);
          CHECK(it.failure()->batch == 2);
        }
      }
    CHECK(firsts == Labels{0, 4, -9, 12});
  }
  lx::set_log_sink(before);
}

TEST_CASE("a transform works in the scope of the mesh that the loader was made in", "[feed]") {
  lx::MeshScope scope{mesh_of({4}, {"data"})};
  const auto sizes = numbers(8).map(
      [](std::int32_t) { return static_cast<std::int32_t>(lx::current_mesh().size()); });
  for (const auto& labels :
       stream(sizes, lx::P("data"), {.global_batch_size = 4, .num_workers = 2}))
    CHECK(labels == Labels{4, 4, 4, 4});
}

TEST_CASE("a loader may be moved; the one that it was moved from says so", "[feed]") {
  lx::MeshScope scope{mesh_of({2}, {"data"})};
  lx::ShardedDataloader loader{numbers(8), lx::P("data"), {.global_batch_size = 4}};
  auto moved = std::move(loader);
  std::size_t batches = 0;
  for (auto epoch : moved.epochs())
    for ([[maybe_unused]] const auto& batch : epoch) ++batches;
  CHECK(batches == 2);
  CHECK(contains(
      message_of<lx::StateError>([&] { loader.epochs(); }),  // NOLINT(bugprone-use-after-move)
      {"moved-from", "hint:"}));
}

TEST_CASE("options and specs that cannot be are errors", "[feed]") {
  const auto data = numbers(8);
  CHECK(contains(message_of<lx::StateError>(
                     [&] { lx::ShardedDataloader{data, lx::P("data"), {.global_batch_size = 4}}; }),
                 {"no mesh in scope", "hint:"}));
  lx::MeshScope scope{mesh_of({3}, {"data"})};
  CHECK(contains(message_of<lx::ArgumentError>(
                     [&] { lx::ShardedDataloader{data, lx::P("data"), {.global_batch_size = 0}}; }),
                 {"global_batch_size is 0", "hint:"}));
  CHECK(contains(message_of<lx::ArgumentError>([&] {
                   lx::ShardedDataloader{
                       data, lx::P("data"), {.global_batch_size = 3, .prefetch_factor = 0}};
                 }),
                 {"prefetch_factor is 0", "hint:"}));
  CHECK(contains(message_of<lx::ArgumentError>([&] {
                   lx::ShardedDataloader{data, lx::P("data"), {.global_batch_size = 64}};
                 }),
                 {"64 rows do not divide by 3, over which P(data) splits them",
                  "\nhint: give a global_batch_size"}));
  CHECK(contains(message_of<lx::ArgumentError>([&] {
                   lx::ShardedDataloader{data, lx::P("model"), {.global_batch_size = 3}};
                 }),
                 {"model", "data"}));
}
