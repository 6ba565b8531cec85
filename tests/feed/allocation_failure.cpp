// Memory that runs out at each of a ShardedDataloader's allocations.
#include <array>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <loadax/core/log.hpp>
#include <loadax/data/map.hpp>
#include <loadax/data/simple_dataset.hpp>
#include <loadax/feed/sharded_dataloader.hpp>

#include "support/catch.hpp"
#include "support/loading.hpp"
#include "support/meshes.hpp"
#include "support/out_of_memory.hpp"

namespace lx = loadax;
using loadax_test::allocations;
using loadax_test::numbers;

namespace {

/// Samples of both kinds: whose type tells all shapes, and whose does not.
void for_each_dataset(auto&& use) {
  use(numbers(40).map([](int i) { return std::array<int, 3>{i, i, i}; }));
  use(numbers(40).map([](int i) { return std::vector<int>(3, i); }));
}

/// Whether a batch, of 8 rows, that begins with sample `first` of 40, is right.
bool is_right(const auto& batch, std::size_t first) {
  const auto& array = batch.template get<0>();
  for (const auto& shard : array.addressable_shards())
    for (std::size_t i = 0; i < shard.values().size(); ++i)
      if (shard.values()[i] != static_cast<int>(first + shard.index[0].start + i / 3)) return false;
  return true;
}

}  // namespace

TEST_CASE("a stream that runs out of memory fails at the start or at a batch, and goes on",
          "[feed]") {
  lx::set_log_sink([](lx::LogLevel, std::string_view) {});
  lx::MeshScope scope{loadax_test::mesh_of({2}, {"data"})};
  for (const std::size_t workers : {0u, 2u})
    for (const bool for_good : {false, true})
      for_each_dataset([&](const auto& dataset) {
        std::size_t at_start = 0, at_batch = 0;
        loadax_test::run_out_of_memory(for_good, [&] {
          bool has_begun = false;
          try {
            lx::ShardedDataloader loader{dataset,
                                         lx::P("data"),
                                         {.global_batch_size = 8,
                                          .epochs = 4,
                                          .num_workers = workers,
                                          .tail = lx::Tail::pad}};
            has_begun = true;
            std::size_t delivered = 0, k = 0;
            for (auto epoch : loader.epochs())
              for (auto it = epoch.begin(); it != epoch.end(); ++it, ++k) {
                if (k == 8) allocations.fail_no_more();
                try {
                  if (!is_right(*it, k % 5 * 8)) throw std::logic_error("a wrong row");
                  ++delivered;
                } catch (const std::bad_alloc&) {
                  ++at_batch;
                }
              }
            // With memory again, all that was not yet loaded comes.
            if (k != 20 || delivered < 20 - 8 - (2 * workers + 1))
              throw std::logic_error("batches are missing");
          } catch (const std::bad_alloc&) {
            if (has_begun) throw std::logic_error("bad_alloc came where no batch was asked for");
            ++at_start;
          }
        });
        CHECK(at_start > 0);
        CHECK(at_batch > 0);
      });
  lx::set_log_sink({});
}
