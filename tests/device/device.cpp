#include <type_traits>

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
