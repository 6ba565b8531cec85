// Samples that cannot be loaded, in a loader over a mesh: each process masks its own rows.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/data/map.hpp>
#include <loadax/data/simple_dataset.hpp>
#include <loadax/feed/sharded_dataloader.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/loading.hpp"
#include "support/meshes.hpp"
#include "support/quiet.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::mesh_of;
using loadax_test::mesh_of_process;
using loadax_test::message_of;
using loadax_test::Mine;
using loadax_test::numbers;
using loadax_test::QuietLog;
using loadax_test::worker_counts;

namespace {

/// Samples 1, ..., n, without those that are `bad`.
template <class Bad>
auto samples(std::size_t n, Bad bad) {
  return numbers(n).map([bad](int i) {
    if (bad(i)) throw Mine(i);
    return i + 1;
  });
}
/// The same as texts of two, whose shape only the sample tells.
template <class Bad>
auto texts(std::size_t n, Bad bad) {
  return samples(n, bad).map([](int i) { return std::vector<int>(2, i); });
}

/// Row by row what a batch's shards hold, by row of the global batch: -1 where masked.
/// Every shard that has a row must agree.
void read(const auto& batch, std::vector<int>& rows, std::size_t first) {
  const auto& array = batch.template get<0>();
  for (std::size_t k = 0; k < array.addressable_shards().size(); ++k) {
    const auto& shard = array.addressable_shards()[k];
    const auto& mask = batch.mask().addressable_shards()[k];
    const std::size_t size = shard.values().size() / mask.values().size();
    for (std::size_t r = 0; r < mask.values().size(); ++r) {
      const int value = shard.values()[r * size];
      for (std::size_t i = 0; i < size; ++i) REQUIRE(shard.values()[r * size + i] == value);
      if (!mask.values()[r]) REQUIRE(value == 0);
      int& row = rows.at(first + shard.index[0].start + r);
      const int read = mask.values()[r] ? value : -1;
      REQUIRE((row == 0 || row == read));
      row = read;
    }
  }
}

}  // namespace

TEST_CASE("a skipped sample is a zero row on every device, and false in the mask", "[feed]") {
  const QuietLog quiet;
  lx::MeshScope scope{mesh_of({2, 2}, {"data", "model"})};
  const auto bad = [](int i) { return i % 5 == 0 || i == 17; };
  for (const std::size_t workers : worker_counts)
    for (const auto tail : {lx::Tail::drop, lx::Tail::pad})
      for (const auto& spec : {lx::P("data"), lx::P(), lx::P(lx::axes("data", "model"))}) {
        lx::ShardedDataloader loader{samples(22, bad),
                                     spec,
                                     {.global_batch_size = 8,
                                      .epochs = 2,
                                      .num_workers = workers,
                                      .tail = tail,
                                      .on_error = lx::OnError::skip()}};
        const std::size_t batches = tail == lx::Tail::drop ? 2 : 3, n = batches * 8;
        for (auto epoch : loader.epochs()) {
          std::vector<int> rows(n, 0);
          std::size_t first = 0;
          for (const auto& batch : epoch) {
            read(batch, rows, first);
            first += 8;
          }
          for (std::size_t i = 0; i < n; ++i)
            CHECK(rows[i] == (i >= 22 || bad(static_cast<int>(i)) ? -1 : static_cast<int>(i) + 1));
        }
        // 0, 5, 10, 15, 17, 20: the last two are in the tail.
        CHECK(loader.statistics().skipped == (tail == lx::Tail::drop ? 2u * 4 : 2u * 6));
        CHECK(loader.statistics().samples == (tail == lx::Tail::drop ? 2u * 12 : 2u * 16));
        CHECK(loader.progress().items_processed == (tail == lx::Tail::drop ? 16 : 22));
      }
}

TEST_CASE("each process masks its own rows, and all agree on the batches' shapes", "[feed]") {
  const QuietLog quiet;
  // All of process 0's rows of batch 0, all of process 1's of batch 1, some of batch 2.
  const auto bad = [](int i) { return i < 4 || (i >= 12 && i < 16) || i == 17 || i == 22; };
  for (const std::size_t workers : worker_counts) {
    std::vector<int> rows(24, 0);
    std::uint64_t skipped = 0;
    for (const int me : {0, 1}) {
      lx::MeshScope scope{mesh_of_process(me)};
      lx::ShardedDataloader loader{
          texts(24, bad),
          lx::P("data"),
          {.global_batch_size = 8, .num_workers = workers, .on_error = lx::OnError::skip()}};
      std::size_t first = 0;
      for (auto epoch : loader.epochs())
        for (const auto& batch : epoch) {
          CHECK(batch.template get<0>().shape() == lx::Shape{8, 2});
          read(batch, rows, first);
          first += 8;
        }
      CHECK(first == 24);
      skipped += loader.statistics().skipped;
    }
    CHECK(skipped == 10);
    for (int i = 0; i < 24; ++i) CHECK(rows[static_cast<std::size_t>(i)] == (bad(i) ? -1 : i + 1));
  }
}

TEST_CASE("a sample that works at another try is delivered, without a mask", "[feed]") {
  lx::MeshScope scope{mesh_of({2}, {"data"})};
  for (const std::size_t workers : worker_counts) {
    auto tries = std::make_shared<std::vector<std::atomic<int>>>(16);
    const auto dataset = numbers(16).map([tries](int i) {
      if (++(*tries)[static_cast<std::size_t>(i)] <= i % 3) throw Mine(i);
      return std::vector<int>{i};
    });
    lx::ShardedDataloader loader{
        dataset,
        lx::P("data"),
        {.global_batch_size = 4, .num_workers = workers, .on_error = lx::OnError::retry(2)}};
    int next = 0;
    for (auto epoch : loader.epochs())
      for (const auto& batch : epoch) {
        CHECK_FALSE(batch.has_mask());
        for (const auto& shard : batch.get<0>().addressable_shards())
          for (const int x : shard.values()) CHECK(x == next++);
      }
    CHECK(next == 16);
    CHECK(loader.statistics().retried == 5 * 1 + 5 * 2);
  }
}

TEST_CASE("a spec that does not fit a field is no matter of policy", "[feed]") {
  const QuietLog quiet;
  lx::MeshScope scope{mesh_of({2, 2}, {"data", "model"})};
  for (const std::size_t workers : worker_counts) {
    lx::ShardedDataloader loader{texts(16, [](int) { return false; }).map([](std::vector<int> x) {
                                   return std::pair{x, 1};
                                 }),
                                 lx::P("data", "model"),
                                 {.global_batch_size = 8,
                                  .num_workers = workers,
                                  .on_error = lx::OnError::retry(3).then_skip()}};
    const auto epoch = *loader.epochs().begin();
    auto it = epoch.begin();
    CHECK(contains(message_of<lx::ArgumentError>([&] { (void)*it; }), {"field '1'", "2 entries"}));
    CHECK(it.failure()->stage == lx::LoadStage::place);
    CHECK(loader.statistics().skipped == 0);
    CHECK(loader.statistics().retried == 0);
  }
}
