#include "conformance/device_memory.hpp"

#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include <loadax/placement/device_memory.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

namespace lx = loadax;

TEST_CASE("host memory is a device memory", "[placement]") {
  const auto memory = std::make_shared<lx::HostMemory>();
  CHECK(memory->is_host());
  CHECK_NOTHROW(loadax_test::check_device_memory(memory));
}

TEST_CASE("a box is copied element by element, whatever the rank", "[placement]") {
  const auto seed = loadax_test::seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (std::size_t round = 0; round < loadax_test::scaled(2000); ++round) {
    lx::Box from_box, to_box, box;
    const std::size_t rank = below(5);
    for (std::size_t d = 0; d < rank; ++d) {
      const std::size_t start = 2 + below(4), size = below(4);
      box.push_back({start, start + size});
      from_box.push_back({start - below(3), start + size + below(3)});
      to_box.push_back({start - below(3), start + size + below(3)});
    }
    std::vector<int> from(lx::element_count(lx::box_shape(from_box)));
    std::vector<int> to(lx::element_count(lx::box_shape(to_box)), -1);
    for (auto& v : from) v = static_cast<int>(below(1000));
    auto expected = to;
    // The oracle walks all coordinates of the box.
    const auto offset = [](const lx::Box& in, const lx::Shape& at) {
      std::size_t flat = 0;
      for (std::size_t d = 0; d < in.size(); ++d) flat = flat * in[d].size() + at[d] - in[d].start;
      return flat;
    };
    const std::size_t count = lx::element_count(lx::box_shape(box));
    for (std::size_t i = 0; i < count; ++i) {
      auto at = lx::Shape::filled(rank, 0);
      std::size_t rest = i;
      for (std::size_t d = rank; d-- > 0; rest /= box[d].size())
        at[d] = box[d].start + rest % box[d].size();
      expected[offset(to_box, at)] = from[offset(from_box, at)];
    }
    const auto copy = lx::copy_of_box(sizeof(int), box, from.data(), from_box, to.data(), to_box);
    REQUIRE(copy.bytes() == count * sizeof(int));
    lx::run_on_host(copy);
    REQUIRE(to == expected);
  }
}

TEST_CASE("contiguous dimensions are copied as one row", "[placement]") {
  std::vector<float> from(64), to(64);
  const lx::Box whole{{0, 4}, {0, 4}, {0, 4}}, rows{{1, 3}, {0, 4}, {0, 4}};
  CHECK(lx::copy_of_box(4, whole, from.data(), whole, to.data(), whole).repeats.empty());
  const auto copy = lx::copy_of_box(4, rows, from.data(), whole, to.data(), whole);
  CHECK(copy.repeats.empty());
  CHECK(copy.row_bytes == 2 * 16 * 4);
}

TEST_CASE("bytes of no memory cannot be had", "[placement]") {
  CHECK(loadax_test::contains(
      loadax_test::message_of<lx::ArgumentError>([] { lx::DeviceBuffer(nullptr, 8); }),
      {"DeviceBuffer: 8 bytes of no memory", "hint:"}));
}
