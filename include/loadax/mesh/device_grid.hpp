// Devices in a row-major grid: what create_device_mesh gives, before axes have names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/core/indexed_range.hpp>
#include <loadax/device/device.hpp>
#include <loadax/mesh/mesh_shape.hpp>

namespace loadax {
inline namespace v0 {

namespace detail {

/// Devices by ascending id, and where the i-th of the original list went.
struct DeviceTable {
  std::vector<Device> devices;
  std::vector<std::uint32_t> given;
};

/// @throws ArgumentError for no devices, a device twice, or two platforms
inline DeviceTable make_device_table(std::span<const Device> devices) {
  if (devices.empty()) throw ArgumentError("a mesh of 0 devices", "give at least one device");
  DeviceTable table{{devices.begin(), devices.end()}, std::vector<std::uint32_t>(devices.size())};
  std::iota(table.given.begin(), table.given.end(), 0U);
  if (!std::ranges::is_sorted(devices, {}, &Device::id)) {
    std::vector<std::uint32_t> by_id = table.given;
    std::sort(by_id.begin(), by_id.end(),
              [&](std::uint32_t a, std::uint32_t b) { return devices[a].id < devices[b].id; });
    for (std::uint32_t rank = 0; rank < by_id.size(); ++rank) {
      table.devices[rank] = devices[by_id[rank]];
      table.given[by_id[rank]] = rank;
    }
  }
  for (std::size_t i = 1; i < table.devices.size(); ++i) {
    const Device &before = table.devices[i - 1], &device = table.devices[i];
    if (before.id == device.id)
      throw ArgumentError(
          fmt::format("device {} twice among {} devices", device.id, table.devices.size()),
          "give every device once");
    if (before.platform != device.platform)
      throw ArgumentError(fmt::format("device {} is a {} and device {} a {}", before.id,
                                      name(before.platform), device.id, name(device.platform)),
                          "a mesh is made of devices of one platform");
  }
  return table;
}

}  // namespace detail

/// Distinct devices of one platform in an n-dimensional row-major grid.
/// @complexity a position's device O(1), a device's position O(1) where ids have no gaps, else
///   O(log n); memory 40 bytes a device
class DeviceGrid {
  struct At {
    const Device* devices = nullptr;
    const std::uint32_t* order = nullptr;
    const Device& operator()(std::size_t i) const { return devices[order[i]]; }
  };

 public:
  /// Row-major positions to devices, by `const Device&`. Valid as long as the grid.
  using Devices = IndexedRange<At>;

  /// The devices exactly as listed, row-major.
  /// @throws ArgumentError where there are none, their number is not the shape's, one is there
  ///   twice, or they are of two platforms
  DeviceGrid(const MeshShape<>& shape, std::span<const Device> devices)
      : DeviceGrid(shape, detail::make_device_table(devices)) {}

  /// For arrangements: the table's devices in the order that is its `given`.
  DeviceGrid(const MeshShape<>& shape, detail::DeviceTable table)
      : shape_(shape.sizes()), table_(std::move(table.devices)), order_(std::move(table.given)) {
    detail::check_device_count(shape, device_count(shape),
                               static_cast<std::int64_t>(order_.size()));
    position_.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i)
      position_[order_[i]] = static_cast<std::uint32_t>(i);
  }

  std::span<const std::int64_t> shape() const noexcept { return {shape_.data(), shape_.size()}; }
  std::size_t size() const noexcept { return order_.size(); }
  Devices devices() const noexcept { return {size(), At{table_.data(), order_.data()}}; }
  /// @pre position < size()
  const Device& operator[](std::size_t position) const { return table_[order_[position]]; }

  /// Where a device stands, if it is here at all.
  std::optional<std::size_t> find(const Device& device) const noexcept {
    if (table_.empty()) return std::nullopt;
    const std::int64_t first = table_.front().id, guess = device.id - first;
    std::size_t at = static_cast<std::size_t>(guess);
    if (guess < 0 || device.id > table_.back().id) return std::nullopt;
    if (at >= table_.size() || table_[at].id != device.id)
      at = static_cast<std::size_t>(std::ranges::lower_bound(table_, device.id, {}, &Device::id) -
                                    table_.begin());
    if (table_[at] != device) return std::nullopt;
    return position_[at];
  }

  bool operator==(const DeviceGrid& other) const {
    return shape_ == other.shape_ && order_ == other.order_ && table_ == other.table_;
  }

 private:
  MeshSizes shape_;
  std::vector<Device> table_;            // by id
  std::vector<std::uint32_t> order_;     // position -> table
  std::vector<std::uint32_t> position_;  // table -> position
};

}  // namespace v0
}  // namespace loadax
