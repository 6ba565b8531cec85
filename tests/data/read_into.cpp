// Samples that their source writes where they are to go.
#include <array>
#include <atomic>
#include <cstddef>
#include <stdexcept>

#include <loadax/core/index_permutation.hpp>
#include <loadax/data/dataloader.hpp>
#include <loadax/data/row_view.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/loading.hpp"
#include "support/quiet.hpp"

namespace lx = loadax;
using loadax_test::message_of;
using loadax_test::worker_counts;

namespace {

struct Example {
  std::array<float, 3> point;
  int label;
};

/// Counts how its samples are read.
struct InPlace {
  std::atomic<int>* in_place;
  std::atomic<int>* by_value;
  std::size_t bad = 1000;
  std::size_t size() const { return 50; }
  Example operator[](std::size_t i) const {
    ++*by_value;
    const auto x = static_cast<float>(i);
    return {{x, x + 0.25f, x + 0.5f}, static_cast<int>(i)};
  }
  void read_into(std::size_t i, const lx::RowView<Example>& row) const {
    ++*in_place;
    const auto point = row[&Example::point];
    const auto x = static_cast<float>(i);
    point[0] = x;
    point[1] = x + 0.25f;
    point[2] = x + 0.5f;
    if (i == bad) throw std::runtime_error("torn");
    row.get<1>()[0] = static_cast<int>(i);
  }
};

static_assert(lx::ReadsIntoRows<InPlace>);
static_assert(!lx::ReadsIntoRows<lx::SimpleDataset<int>>);

}  // namespace

TEST_CASE("a source that can writes its samples in place, and not otherwise") {
  for (const std::size_t workers : worker_counts) {
    std::atomic<int> in_place{0}, by_value{0};
    const auto dataset = lx::dataset(InPlace{&in_place, &by_value}).shuffle(3).slice(5, 45);
    const lx::Dataloader loader{dataset, {.batch_size = 8, .num_workers = workers}};
    const lx::IndexPermutation order(50, 3, 0);
    std::size_t at = 5;
    for (const auto& batch : loader)
      for (std::size_t row = 0; row < 8; ++row, ++at) {
        CHECK(batch[&Example::label].values()[row] == static_cast<int>(order(at)));
        CHECK(batch[&Example::point].values()[3 * row + 2] == static_cast<float>(order(at)) + 0.5f);
      }
    CHECK(at == 45);
    CHECK(in_place == 40);
    CHECK(by_value == 0);
  }
}

TEST_CASE("a transform takes the sample as a value") {
  std::atomic<int> in_place{0}, by_value{0};
  const lx::Dataloader loader{
      lx::dataset(InPlace{&in_place, &by_value}).map([](Example e) { return e; }),
      {.batch_size = 10}};
  for (const auto& batch : loader) CHECK(batch.rows() == 10);
  CHECK(in_place == 0);
  CHECK(by_value == 50);
}

TEST_CASE("a sample that fails half written in place is an error, or a zero row") {
  const loadax_test::QuietLog quiet;
  for (const std::size_t workers : worker_counts) {
    std::atomic<int> in_place{0}, by_value{0};
    const auto dataset = lx::dataset(InPlace{&in_place, &by_value, 13});
    const lx::Dataloader raising{dataset, {.batch_size = 10, .num_workers = workers}};
    auto it = raising.begin();
    ++it;
    CHECK(message_of<std::runtime_error>([&] { (void)*it; }) == "torn");
    CHECK(it.failure()->sample == 13);
    CHECK(it.failure()->stage == lx::LoadStage::source);
    const lx::Dataloader skipping{
        dataset, {.batch_size = 10, .num_workers = workers, .on_error = lx::OnError::skip()}};
    int sample = 0;
    for (const auto& batch : skipping)
      for (std::size_t row = 0; row < 10; ++row, ++sample) {
        CHECK(batch.mask().values()[row] == (sample != 13));
        CHECK(batch[&Example::label].values()[row] == (sample == 13 ? 0 : sample));
        CHECK(batch[&Example::point].values()[3 * row + 1] ==
              (sample == 13 ? 0.f : static_cast<float>(sample) + 0.25f));
      }
    CHECK(sample == 50);
  }
}
