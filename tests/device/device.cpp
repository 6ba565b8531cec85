#include <array>
#include <string>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>

#include <loadax/device/device.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;

TEST_CASE("a device is a small value that can be copied byte by byte") {
  CHECK(sizeof(lx::Device) <= 32);
  CHECK(std::is_trivially_copyable_v<lx::Device>);
  CHECK(lx::Device{.id = 3} == lx::Device{.id = 3});
  CHECK_FALSE(lx::Device{.id = 3} == lx::Device{.id = 3, .local_id = 1});
}

TEST_CASE("a device has coordinates only where it was given some") {
  CHECK_FALSE(lx::Device{}.has_coords());
  CHECK(lx::Device{.coords = {.x = 0, .y = 0, .z = 0}}.has_coords());
}

TEST_CASE("platforms have JAX's names") {
  CHECK(lx::name(lx::Platform::cpu) == "cpu");
  CHECK(lx::name(lx::Platform::gpu) == "gpu");
  CHECK(lx::name(lx::Platform::tpu) == "tpu");
}

TEST_CASE("kinds of equal names are equal and keep their names") {
  const auto v4 = lx::DeviceKind::named("TPU v4");
  CHECK(v4 == lx::DeviceKind::named("TPU v4"));
  CHECK_FALSE(v4 == lx::DeviceKind::named("TPU v5e"));
  CHECK(v4.name() == "TPU v4");
  CHECK(lx::DeviceKind{}.name() == "unknown");
  CHECK(lx::DeviceKind{} == lx::DeviceKind::named("unknown"));
}

TEST_CASE("a kind needs a name") {
  const auto text = loadax_test::message_of<lx::ArgumentError>([] { lx::DeviceKind::named(""); });
  CHECK(loadax_test::contains(text, {"DeviceKind", "empty", "hint: "}));
}

namespace {

/// What `text()` gives in a process of its own, so that what it does to the program's state is
/// lost.
template <class Text>
std::string in_child(Text&& text) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const auto child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::string result = text();
    const auto written = write(ends[1], result.data(), result.size());
    _exit(static_cast<std::size_t>(written) == result.size() ? 0 : 1);
  }
  close(ends[1]);
  std::string result(4096, '\0');
  const auto count = read(ends[0], result.data(), result.size());
  close(ends[0]);
  int status = 1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  REQUIRE(count >= 0);
  result.resize(static_cast<std::size_t>(count));
  return result;
}

}  // namespace

TEST_CASE("there are at most 65,536 kinds, each found by its name") {
  const auto text = in_child([]() -> std::string {
    const auto name = [](int i) { return "kind " + std::to_string(i); };
    int i = 0;
    try {
      for (; i < 1 << 17; ++i) (void)lx::DeviceKind::named(name(i));
    } catch (const lx::NotSupportedError& error) {
      for (int k = 0; k < i; ++k)
        if (lx::DeviceKind::named(name(k)).name() != name(k)) return "another kind";
      return std::to_string(i) + " made; " + error.what();
    }
    return "no end";
  });
  CHECK(loadax_test::contains(
      text, {"made; DeviceKind: 'kind 655", "would be kind number 65536", "hint: a kind"}));
}
