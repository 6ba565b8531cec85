// What a loader's messages say, word for word.
#include <functional>
#include <utility>
#include <vector>

#include <loadax/data/batch.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

TEST_CASE("the mask of a batch of samples alone cannot be asked for", "[data]") {
  const lx::Batch<int> batch;
  CHECK(contains(message_of<lx::StateError>([&] { (void)batch.mask(); }),
                 {"this batch has no mask: all of its rows are samples", "hint: ask has_mask()"}));
}

TEST_CASE("an iterator behind its last batch, or that was moved from, has none", "[data]") {
  const lx::Dataloader loader{lx::SimpleDataset<int>{{1, 2, 3}}, {.batch_size = 2}};
  auto it = loader.begin();
  for (int k = 0; k < 2; ++k) ++it;
  for (const auto& use : std::vector<std::function<void()>>{[&] { (void)*it; }, [&] { ++it; }})
    CHECK(contains(message_of<lx::StateError>(use),
                   {"there is no batch 2: the loader has passed its last one", "hint: compare"}));
  const auto moved = std::move(it);
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { (void)*it; }, [&] { ++it; }, [&] { (void)(it == loader.end()); },
           [&] { (void)it.progress(); }, [&] { (void)it.failure(); }})
    CHECK(contains(message_of<lx::StateError>(use),
                   {"a moved-from Dataloader iterator was used", "hint: use the one"}));
}

TEST_CASE("a loader or a pass that was moved from is still there", "[data]") {
  lx::Dataloader loader{lx::SimpleDataset<int>{{1, 2, 3}}, {.batch_size = 3}};
  auto pass = loader.epoch(0);
  const auto moved_loader = std::move(loader);
  const auto moved_pass = std::move(pass);
  for (const auto& batch :
       {*moved_loader.begin(), *loader.begin(), *moved_pass.begin(), *pass.begin()})
    CHECK(lx::get<0>(batch).size() == 3);
}
