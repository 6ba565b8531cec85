// The steady state allocates nothing: this program counts every operator new.
#include <array>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include <loadax/data/dataloader.hpp>
#include <loadax/data/simple_dataset.hpp>

#include "support/allocations.hpp"
#include "support/catch.hpp"

namespace lx = loadax;
using loadax_test::allocations;

namespace {

/// Allocations from batch `warm` of an epoch to its last but one.
std::size_t steady_allocations(const auto& loader, std::size_t warm, std::size_t batches) {
  std::size_t before = 0, after = 0, k = 0;
  for (const auto& batch : loader) {
    if (k == warm) before = allocations.count();
    if (k + 1 == batches) after = allocations.count();
    if (batch.rows() == 0) std::abort();
    ++k;
  }
  CHECK(k == batches);
  return after - before;
}

struct Fixed {
  std::array<float, 16> image;
  int label;
};
struct Open {
  std::vector<float> tokens;
  int label;
};

}  // namespace

TEST_CASE("no batch of the steady state allocates, for examples of fixed shape") {
  const auto dataset = lx::SimpleDataset{std::vector<Fixed>(4000)}.shuffle(1).map([](Fixed f) {
    f.label = 2;
    return f;
  });
  for (const std::size_t workers : {0u, 1u, 3u}) {
    const lx::Dataloader loader{dataset, {.batch_size = 16, .num_workers = workers}};
    CHECK(steady_allocations(loader, 30, 250) == 0);
  }
}

TEST_CASE("no batch of the steady state allocates, for samples that happen to have one shape") {
  const auto dataset =
      lx::SimpleDataset{std::vector<Open>(4000, Open{{1, 2, 3}, 4})}.shuffle(1).slice(0, 3200);
  for (const std::size_t workers : {0u, 1u, 3u}) {
    const lx::Dataloader loader{dataset, {.batch_size = 16, .num_workers = workers}};
    CHECK(steady_allocations(loader, 30, 200) == 0);
  }
}
