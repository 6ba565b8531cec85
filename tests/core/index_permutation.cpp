#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <loadax/core/error.hpp>
#include <loadax/core/index_permutation.hpp>

#include "golden/permutation.hpp"
#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

namespace {

/// Whether p is a bijection of [0, n) with the inverse position_of, and copy() agrees with it.
bool is_bijective(std::uint64_t n, std::uint64_t seed) {
  const lx::IndexPermutation p(n, seed);
  std::vector<std::uint64_t> indices(n);
  p.copy(0, indices);
  std::vector<bool> seen(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t index = p(i);
    if (index >= n || seen[index] || indices[i] != index || p.position_of(index) != i) return false;
    seen[index] = true;
  }
  return true;
}

struct Statistics {
  double chi_square = 0;  // of position in 16 parts against index in 16 parts: 225 degrees
  double adjacency = 0;   // neighbours within n / 1000, relative to the expected number
  double successors = 0;  // p(i + 1) = p(i) + 1, per permutation: 1 expected
  double ascents = 0;     // p(i) < p(i + 1) < p(i + 2), as a fraction: 1/6 expected
};

Statistics mean_statistics(std::uint64_t n, int seeds) {
  const auto size = static_cast<double>(n);
  const std::uint64_t near = std::max<std::uint64_t>(1, n / 1000);
  const auto w = static_cast<double>(near);
  const double expected_near = (size - 1) * (2 * w * size - w * (w + 1)) / (size * (size - 1));
  Statistics mean;
  for (int seed = 0; seed < seeds; ++seed) {
    std::vector<std::uint64_t> p(n);
    lx::IndexPermutation(n, static_cast<std::uint64_t>(seed)).copy(0, p);
    std::array<double, 256> cells{};
    double adjacent = 0, successors = 0, ascents = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      ++cells[i * 16 / n * 16 + p[i] * 16 / n];
      if (i + 1 < n) {
        adjacent += std::max(p[i], p[i + 1]) - std::min(p[i], p[i + 1]) <= near;
        successors += p[i + 1] == p[i] + 1;
      }
      if (i + 2 < n) ascents += p[i] < p[i + 1] && p[i + 1] < p[i + 2];
    }
    for (const double cell : cells)
      mean.chi_square += std::pow(cell - size / 256, 2) / (size / 256) / seeds;
    mean.adjacency += adjacent / expected_near / seeds;
    mean.successors += successors / seeds;
    mean.ascents += ascents / (size - 2) / seeds;
  }
  return mean;
}

}  // namespace

TEST_CASE("the order of samples equals that of an implementation in Python") {
  for (const auto& known : golden::permutation) {
    const lx::IndexPermutation p(known.size, known.seed, known.epoch);
    const std::uint64_t n = known.size;
    const std::uint64_t positions[] = {0, 1, 2, 3, n / 2, n - 2, n - 1};
    for (std::size_t i = 0; i < std::size(positions); ++i) {
      INFO("size " << n << " seed " << known.seed << " epoch " << known.epoch);
      CHECK(p(positions[i]) == known.indices[i]);
      CHECK(p.position_of(known.indices[i]) == positions[i]);
    }
  }
}

TEST_CASE("the order is a bijection with its inverse for every size up to 2,000") {
  for (std::uint64_t n = 0; n <= 2000; ++n) {
    INFO("size " << n);
    REQUIRE(is_bijective(n, n));
  }
}

TEST_CASE("the order is a bijection for sizes around powers of two") {
  for (const std::uint64_t power : {4096u, 65536u, 262144u})
    for (const std::uint64_t n : {power - 1, power, power + 1}) {
      INFO("size " << n);
      CHECK(is_bijective(n, 3));
    }
}

TEST_CASE("the order has the statistics of a true shuffle") {
  // Bounds are 4.5 standard deviations of the mean over the seeds (7e-6 two-sided each). One
  // permutation's: chi-square sqrt(2 * 225); the count of near neighbours and of successors that of
  // a Poisson variable; ascents bounded by sqrt(0.2 / n).
  for (const std::uint64_t n : {257u, 1000u, 4096u, 10'000u, 65'537u}) {
    const int seeds = n < 5000 ? 400 : 40;
    const Statistics mean = mean_statistics(n, seeds);
    INFO("size " << n);
    const auto size = static_cast<double>(n);
    const double near = 2 * std::max(1.0, std::floor(size / 1000));
    CHECK(std::abs(mean.chi_square - 225 * size / (size - 1)) < 4.5 * std::sqrt(450.0 / seeds));
    CHECK(std::abs(mean.adjacency - 1) < 4.5 / std::sqrt(near * seeds));
    CHECK(std::abs(mean.successors - 1) < 4.5 / std::sqrt(seeds));
    CHECK(std::abs(mean.ascents - 1.0 / 6) < 4.5 * std::sqrt(0.2 / size / seeds));
  }
}

TEST_CASE("epochs differ from each other, and epoch 1 of a seed from epoch 0 of the next") {
  for (const std::uint64_t n : {200u, 5000u}) {
    const auto equal = [n](const lx::IndexPermutation& a, const lx::IndexPermutation& b) {
      std::uint64_t count = 0;
      for (std::uint64_t i = 0; i < n; ++i) count += a(i) == b(i);
      return count;
    };
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const lx::IndexPermutation first(n, seed, 0), second(n, seed, 1);
      CHECK(equal(first, second) < 8);  // one expected
      CHECK(equal(second, lx::IndexPermutation(n, seed + 1, 0)) < 8);
      CHECK(equal(first, lx::IndexPermutation(n, seed, 0)) == n);
    }
  }
}

TEST_CASE("an order of 2^40 samples is made at once and takes no memory") {
  // Work for each sample would take days.
  std::uint64_t sum = 0;
  for (int seed = 0; seed < 1000; ++seed)
    sum += lx::IndexPermutation(std::uint64_t{1} << 40, static_cast<std::uint64_t>(seed))(12345);
  CHECK(sum != 0);
  CHECK(sizeof(lx::IndexPermutation) <= 288);
}

TEST_CASE("the largest sizes are permuted with their inverse") {
  const std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t n : {(std::uint64_t{1} << 40) + 1, std::uint64_t{1} << 63,
                                (std::uint64_t{1} << 63) + 1, largest}) {
    const lx::IndexPermutation p(n, 9);
    for (std::uint64_t i = 0; i < 1000; ++i) {
      const std::uint64_t position = i < 500 ? i : n - 1 - i;
      const std::uint64_t index = p(position);
      REQUIRE(index < n);
      REQUIRE(p.position_of(index) == position);
    }
  }
}

TEST_CASE("a position beyond the end is an error that names it") {
  const lx::IndexPermutation small(10, 1), large(1000, 1), none(0, 1);
  CHECK(contains(message_of<lx::IndexError>([&] { (void)small(10); }),
                 {"IndexPermutation: position 10 of 10", "hint: positions and indices"}));
  CHECK(
      contains(message_of<lx::IndexError>([&] { (void)large(1000); }), {"position 1000 of 1000"}));
  CHECK(contains(message_of<lx::IndexError>([&] { (void)none(0); }), {"position 0 of 0", "hint:"}));
  CHECK(contains(message_of<lx::IndexError>([&] { (void)large.position_of(1000); }),
                 {"IndexPermutation: index 1000 of 1000", "hint: "}));
  std::array<std::uint64_t, 4> out{};
  CHECK(contains(message_of<lx::IndexError>([&] { large.copy(997, out); }),
                 {"IndexPermutation: position 1000 of 1000"}));
  large.copy(996, out);
  large.copy(1000, std::span<std::uint64_t>());
}
