#include <cstddef>
#include <type_traits>

#include <loadax/array/view.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;

TEST_CASE("a view reads and writes the array that it is a view of", "[array]") {
  lx::HostArray<int> a({2, 2}, {1, 2, 3, 4});
  const lx::View<int> view(a);
  view.values()[3] = 9;
  CHECK(a.values()[3] == 9);
  const lx::ConstView<int> reader(view);
  CHECK(reader.data() == a.data());
  CHECK(reader.shape() == a.shape());
  CHECK(reader.size_bytes() == 16);
  const lx::HostArray<int>& constant = a;
  CHECK(lx::ConstView<int>(constant).rank() == 2);
  static_assert(std::is_same_v<decltype(lx::View(a)), lx::View<int>>);
  static_assert(std::is_same_v<decltype(lx::View(constant)), lx::ConstView<int>>);
  static_assert(!std::is_constructible_v<lx::View<int>, const lx::HostArray<int>&>);
  static_assert(!std::is_constructible_v<lx::View<int>, lx::ConstView<int>>);
}

TEST_CASE("a view of nothing has no elements", "[array]") {
  const lx::View<float> none;
  CHECK(none.size() == 0);
  CHECK(none.values().empty());
}

TEST_CASE("a view whose size overflows is an error", "[array]") {
  const std::size_t big = std::size_t{1} << 33;
  CHECK(loadax_test::contains(
      loadax_test::message_of<lx::ArgumentError>([&] { lx::View<float>(nullptr, {big, big}); }),
      {"shape [8589934592, 8589934592] has more than 2^64 elements", "hint:"}));
}
