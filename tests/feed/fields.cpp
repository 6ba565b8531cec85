// Fields of particular types over the devices of a mesh: bits, and shapes known at run time only.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <loadax/data/map.hpp>
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
using loadax_test::mesh_of_process;
using loadax_test::message_of;
using loadax_test::numbers;
using loadax_test::worker_counts;

namespace {

/// Samples 0, ..., n - 1, sample i as the text [i, i, i].
auto texts(std::size_t n) {
  return numbers(n).map([](std::int32_t i) { return std::vector<std::int32_t>(3, i); });
}

}  // namespace

TEST_CASE("a field of bits may be split within its rows, or be plain", "[feed]") {
  const lx::SimulatedTopology topology{{.nodes = 1, .devices_per_node = 4}};
  lx::MeshScope scope{
      lx::Mesh{lx::create_device_mesh(lx::MeshShape{2, 2}, topology), {"data", "model"}}};
  using Bits = std::array<bool, 4>;
  const auto bit = [](std::size_t row, std::size_t d) { return (row >> d & 1) != 0; };
  const auto bits = numbers(8).map([=](std::int32_t i) {
    const auto row = static_cast<std::size_t>(i);
    return Bits{bit(row, 0), bit(row, 1), bit(row, 2), bit(row, 3)};
  });
  lx::ShardedDataloader split{bits, lx::P("data", "model"), {.global_batch_size = 8}};
  std::size_t batches = 0;
  for (auto epoch : split.epochs())
    for (const auto& batch : epoch) {
      ++batches;
      for (const auto& shard : batch.get<0>().addressable_shards()) {
        REQUIRE(shard.shape == lx::Shape{4, 2});
        for (std::size_t i = 0; i < 8; ++i)
          CHECK(shard.values()[i] ==
                bit(shard.index[0].start + i / 2, shard.index[1].start + i % 2));
      }
    }
  CHECK(batches == 1);

  struct Example {
    bool odd;
    std::int32_t label;
  };
  const auto plain = numbers(8).map([](std::int32_t i) { return Example{i % 2 == 1, i}; });
  lx::ShardedDataloader loader{plain, lx::P("data"), {.global_batch_size = 8}};
  for (auto epoch : loader.epochs())
    for (const auto& batch : epoch) {
      const auto odd = lx::global_to_host_array(batch[&Example::odd]);
      for (std::size_t i = 0; i < 8; ++i) CHECK(odd.values()[i] == (i % 2 == 1));
    }
}

TEST_CASE("a process whose rows are all padding takes the shape of the global batch", "[feed]") {
  for (const int me : {0, 1})
    for (const std::size_t workers : worker_counts) {
      INFO("process " << me << " workers " << workers);
      lx::MeshScope scope{mesh_of_process(me)};
      // 5 samples: of the second batch, row 0 alone is one, and process 1 has rows 2 and 3.
      lx::ShardedDataloader loader{
          texts(5),
          lx::P("data"),
          {.global_batch_size = 4, .epochs = 3, .num_workers = workers, .tail = lx::Tail::pad}};
      std::size_t batches = 0;
      for (auto epoch : loader.epochs())
        for (const auto& batch : epoch) {
          REQUIRE(batch.get<0>().shape() == lx::Shape{4, 3});
          for (std::size_t k = 0; k < 2; ++k) {
            const std::size_t row = 2 * static_cast<std::size_t>(me) + k;
            const std::size_t sample = batches % 2 * 4 + row;
            const auto values = batch.get<0>().addressable_shards()[k].values();
            REQUIRE(values.size() == 3);
            for (const auto value : values)
              CHECK(value == (sample < 5 ? static_cast<std::int32_t>(sample) : 0));
            CHECK(batch.mask().addressable_shards()[k].values()[0] == (sample < 5));
          }
          ++batches;
        }
      CHECK(batches == 6);
    }
}

TEST_CASE("where the sample that tells the shape cannot be read, its batch says so", "[feed]") {
  const auto before = lx::set_log_sink([](lx::LogLevel, std::string_view) {});
  for (const std::size_t workers : worker_counts) {
    lx::MeshScope scope{mesh_of_process(1)};
    const auto failing = texts(5).map([](const std::vector<std::int32_t>& text) {
      if (text[0] == 4) throw std::domain_error("sample 4");
      return text;
    });
    lx::ShardedDataloader loader{
        failing,
        lx::P("data"),
        {.global_batch_size = 4, .num_workers = workers, .tail = lx::Tail::pad}};
    const auto epoch = *loader.epochs().begin();
    auto it = epoch.begin();
    CHECK(it->get<0>().shape() == lx::Shape{4, 3});
    ++it;
    CHECK(message_of<std::domain_error>([&] { (void)*it; }) == "sample 4");
    REQUIRE(it.failure() != nullptr);
    CHECK(it.failure()->sample == 4);
    CHECK(it.failure()->stage == lx::LoadStage::transform);
    ++it;
    CHECK(it == epoch.end());
  }
  lx::set_log_sink(before);
}

TEST_CASE("a source writes its samples straight into the one shard that has their row", "[feed]") {
  struct Rows {
    std::atomic<int>* in_place;
    std::atomic<int>* by_value;
    std::size_t size() const { return 16; }
    std::array<std::int32_t, 2> operator[](std::size_t i) const {
      ++*by_value;
      return {static_cast<std::int32_t>(i), -static_cast<std::int32_t>(i)};
    }
    void read_into(std::size_t i, const lx::RowView<std::array<std::int32_t, 2>>& row) const {
      ++*in_place;
      row.get<0>()[0] = static_cast<std::int32_t>(i);
      row.get<0>()[1] = -static_cast<std::int32_t>(i);
    }
  };
  lx::MeshScope scope{loadax_test::mesh_of({2, 2}, {"data", "model"})};
  const auto check = [](const lx::PartitionSpec& spec, bool in_one_piece) {
    for (const std::size_t workers : worker_counts) {
      std::atomic<int> in_place{0}, by_value{0};
      lx::ShardedDataloader loader{
          Rows{&in_place, &by_value},
          spec,
          {.global_batch_size = 8, .num_workers = workers, .on_error = lx::OnError::skip()}};
      std::int32_t next = 0;
      for (auto epoch : loader.epochs())
        for (const auto& batch : epoch) {
          const auto host = lx::global_to_host_array(batch);
          for (std::size_t row = 0; row < 8; ++row, ++next) {
            CHECK(host.get<0>().values()[2 * row] == next);
            CHECK(host.get<0>().values()[2 * row + 1] == -next);
            CHECK(host.mask().values()[row]);
          }
        }
      CHECK(next == 16);
      CHECK(in_place == (in_one_piece ? 16 : 0));
      CHECK(by_value == (in_one_piece ? 0 : 16));
    }
  };
  check(lx::P(lx::axes("data", "model")), true);
  check(lx::P("data"), false);           // two devices have each row
  check(lx::P("data", "model"), false);  // each has a part of it
}
