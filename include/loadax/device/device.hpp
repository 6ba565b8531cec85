// One device of a job: who it is and where it stands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/error.hpp>

namespace loadax {
inline namespace v0 {

enum class Platform : std::uint8_t { cpu, gpu, tpu };

/// The platform's name in JAX's words: "cpu", "gpu", "tpu".
constexpr std::string_view name(Platform platform) noexcept {
  constexpr std::string_view names[] = {"cpu", "gpu", "tpu"};
  return names[static_cast<std::size_t>(platform)];
}

/// The make of a device, such as "TPU v4" or "NVIDIA H100": a small number that stands for a name.
/// Equal names have equal kinds. The number itself means nothing outside of this process.
class DeviceKind {
 public:
  /// The kind called "unknown".
  DeviceKind() = default;

  /// The kind of this name. Thread-safe. O(log n) for n kinds, O(n) for a new one.
  /// @throws ArgumentError where the name is empty
  /// @throws NotSupportedError beyond 65,535 names
  static DeviceKind named(std::string_view name) {
    if (name.empty())
      throw ArgumentError("DeviceKind: the name is empty", "name the make, such as \"TPU v4\"");
    Registry& known = registry();
    const std::scoped_lock lock(known.mutex);
    const auto at = std::ranges::lower_bound(known.by_name, name, {}, [&](std::uint16_t id) {
      return std::string_view(known.names[id]);
    });
    if (at != known.by_name.end() && known.names[*at] == name) return DeviceKind(*at);
    if (known.names.size() > std::numeric_limits<std::uint16_t>::max())
      throw NotSupportedError(
          fmt::format("DeviceKind: '{}' would be kind number {}", name, known.names.size()),
          "a kind is the make of a device, not one device");
    const auto id = static_cast<std::uint16_t>(known.names.size());
    known.names.emplace_back(name);
    known.by_name.insert(at, id);
    return DeviceKind(id);
  }

  /// Valid until the program ends. Thread-safe.
  const std::string& name() const {
    Registry& known = registry();
    const std::scoped_lock lock(known.mutex);
    return known.names[id_];
  }

  bool operator==(const DeviceKind&) const = default;

 private:
  struct Registry {
    std::mutex mutex;
    std::deque<std::string> names{"unknown"};
    std::vector<std::uint16_t> by_name{0};  // kinds, in the order of their names
  };
  /// Never destroyed: threads may ask while the program ends.
  static Registry& registry() {
    static auto* known = new Registry;
    return *known;
  }

  explicit DeviceKind(std::uint16_t id) : id_(id) {}
  std::uint16_t id_ = 0;
};

/// A place in a torus of chips, and the core on the chip. The default is no place at all.
struct Coords {
  std::int16_t x = -1, y = -1, z = -1, core = 0;
  bool operator==(const Coords&) const = default;
};

/// A device as every process of the job sees it. Trivially copyable and small: a million of them
/// are 32 MB.
struct Device {
  /// Unique in the job.
  std::int32_t id = 0;
  /// The process that drives it.
  std::int32_t process_index = 0;
  /// The machine it is in: devices of one node share the fast interconnect.
  std::int32_t node_index = 0;
  /// The TPU slice, or -1 where there are no slices.
  std::int32_t slice_index = -1;
  /// Its number on its node.
  std::int32_t local_id = 0;
  Coords coords{};
  DeviceKind kind{};
  Platform platform = Platform::cpu;

  bool has_coords() const noexcept { return coords.x >= 0; }
  bool operator==(const Device&) const = default;
};

static_assert(std::is_trivially_copyable_v<Device> && sizeof(Device) <= 32);

}  // namespace v0
}  // namespace loadax
