#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include <loadax/core/random.hpp>

#include "golden/permutation.hpp"
#include "support/catch.hpp"

namespace lx = loadax;

TEST_CASE("philox gives the known answers of Random123 and NumPy") {
  // The golden cases, which tests/golden/permutation.py compares with numpy.random.Philox, have
  // those of Random123's kat_vectors (philox4x64, 10 rounds: zeros, ones, pi) among them.
  for (const auto& known : golden::philox)
    CHECK(lx::philox(known.key, known.counter) == known.result);
  static_assert(lx::philox({0, 0}, {0, 0, 0, 0})[0] == 0x16554D9ECA36314C);
}

TEST_CASE("a sequence of random numbers depends on seed, stream, epoch and index as documented") {
  for (const auto& known : golden::numbers) {
    lx::CounterRandom random(known.seed, static_cast<lx::RandomStream>(known.stream), known.epoch,
                             known.index);
    for (const std::uint64_t expected : known.first) CHECK(random() == expected);
  }
}

TEST_CASE("sequences that differ in one of seed, stream, epoch and index share no number") {
  std::set<std::uint64_t> seen;
  std::size_t drawn = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (std::uint64_t stream = 0; stream < 3; ++stream)
      for (std::uint64_t epoch = 0; epoch < 4; ++epoch)
        for (std::uint64_t index = 0; index < 4; ++index) {
          lx::CounterRandom random(seed, static_cast<lx::RandomStream>(stream), epoch, index);
          for (int i = 0; i < 8; ++i, ++drawn) seen.insert(random());
        }
  CHECK(seen.size() == drawn);
}

TEST_CASE("a copy of a random sequence continues alike") {
  lx::CounterRandom a(5);
  a();
  lx::CounterRandom b = a;
  for (int i = 0; i < 10; ++i) CHECK(a() == b());
}

TEST_CASE("numbers below a bound are the golden ones, and all equally likely") {
  for (const auto& known : golden::below) {
    lx::CounterRandom random(known.seed);
    for (const std::uint64_t expected : known.first) CHECK(random.below(known.bound) == expected);
  }
  lx::CounterRandom random(11);
  CHECK(random.below(0) == 0);
  CHECK(random.below(1) == 0);
  constexpr int draws = 100'000;
  std::array<int, 10> counts{};
  for (int i = 0; i < draws; ++i) ++counts.at(random.below(10));
  double chi_square = 0;
  for (const int count : counts) chi_square += std::pow(count - draws / 10, 2) / (draws / 10);
  CHECK(chi_square < 27.9);  // the 99.9 % point at 9 degrees of freedom
}

TEST_CASE("uniform numbers lie in [0, 1) with mean 1/2 and variance 1/12") {
  lx::CounterRandom random(3);
  constexpr int draws = 100'000;
  double sum = 0, squares = 0, low = 1, high = 0;
  for (int i = 0; i < draws; ++i) {
    const double x = random.uniform();
    sum += x;
    squares += (x - 0.5) * (x - 0.5);
    low = std::min(low, x);
    high = std::max(high, x);
  }
  CHECK(low >= 0);
  CHECK(high < 1);
  CHECK(std::abs(sum / draws - 0.5) < 4 * std::sqrt(1.0 / 12 / draws));
  CHECK(std::abs(squares / draws - 1.0 / 12) < 4 * std::sqrt(1.0 / 180 / draws));
}
