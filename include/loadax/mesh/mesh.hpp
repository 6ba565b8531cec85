// Devices on named axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/device/device.hpp>
#include <loadax/mesh/axis_names.hpp>
#include <loadax/mesh/device_grid.hpp>
#include <loadax/mesh/mesh_shape.hpp>

namespace loadax {
inline namespace v0 {

namespace detail {

inline void check_mesh_position(std::size_t position, std::size_t size) {
  if (position >= size)
    throw IndexError(fmt::format("mesh position {} of {}", position, size),
                     "positions run from 0 to the mesh's size() - 1");
}

}  // namespace detail

/// A grid of devices whose axes have names, as one process of the job sees it. An immutable value:
/// copying one copies a pointer, and threads may share one. Spans, ranges and references that it
/// hands out are valid while one of its copies lives.
class Mesh {
 public:
  /// @throws ArgumentError where there is not one name for each axis, or `process_index` is
  /// negative;
  ///   StateError for a moved-from grid
  /// @complexity O(devices); 44 bytes a device at most
  Mesh(DeviceGrid devices, AxisNames<> axis_names, int process_index = 0)
      : state_(std::make_shared<const State>(std::move(devices), std::move(axis_names),
                                             process_index)) {}

  /// To move is to copy, so that no mesh is ever empty.
  Mesh(const Mesh&) = default;
  Mesh& operator=(const Mesh&) = default;

  std::span<const std::int64_t> shape() const noexcept { return state_->grid.shape(); }
  std::span<const std::string> axis_names() const noexcept { return state_->names.values(); }
  std::size_t rank() const noexcept { return shape().size(); }
  std::size_t size() const noexcept { return state_->grid.size(); }
  /// The process that looks at the mesh.
  int process_index() const noexcept { return state_->process_index; }

  /// Every device, row-major: `devices()[position]` is a `const Device&`.
  DeviceGrid::Devices devices() const noexcept { return state_->grid.devices(); }

  /// The axis of this name.
  /// @throws ArgumentError that lists the axes
  std::size_t axis(std::string_view name) const { return detail::find_axis(axis_names(), name); }
  std::int64_t axis_size(std::string_view name) const { return shape()[axis(name)]; }
  /// Distance between positions that differ by one along the axis.
  std::int64_t stride(std::size_t axis) const { return state_->strides[checked_axis(axis)]; }

  /// The coordinate of a position along an axis. O(1)
  /// @throws IndexError where there is no such position or axis
  std::int64_t coordinate(std::size_t position, std::size_t axis) const {
    detail::check_mesh_position(position, size());
    const std::int64_t step = stride(axis);
    return static_cast<std::int64_t>(position) / step % shape()[axis];
  }

  /// The position of a device in `devices()`. O(1) where the devices' ids have no gaps, else
  /// O(log n)
  /// @throws ArgumentError where it is not in the mesh
  std::size_t position(const Device& device) const {
    if (const auto found = state_->grid.find(device)) return *found;
    throw ArgumentError(
        fmt::format("device {} is not in the mesh of {} devices", device.id, size()),
        "take a device from devices() or local_devices() of this mesh");
  }
  bool contains(const Device& device) const noexcept {
    return state_->grid.find(device).has_value();
  }

  /// A device's coordinates, one for each axis.
  /// @throws ArgumentError where it is not in the mesh
  MeshSizes coordinates(const Device& device) const {
    const std::size_t at = position(device);
    MeshSizes result;
    for (std::size_t k = 0; k < rank(); ++k) result.push_back(coordinate(at, k));
    return result;
  }

  /// Positions of the devices that this process drives, ascending.
  std::span<const std::uint32_t> local_positions() const noexcept { return state_->local; }
  /// The devices that this process drives, row-major. O(result)
  std::vector<Device> local_devices() const {
    std::vector<Device> local;
    local.reserve(local_positions().size());
    for (const std::uint32_t at : local_positions()) local.push_back(state_->grid[at]);
    return local;
  }

  /// The mesh over some of the axes, in the given order, that goes through a device.
  /// @throws ArgumentError for an unknown axis, or where the device is not in the mesh
  /// @complexity O(rank + devices of the result)
  Mesh submesh(const AxisNames<>& names, const Device& through) const {
    const std::size_t at = position(through);
    MeshSizes sizes, steps;
    std::int64_t base = static_cast<std::int64_t>(at);
    for (const std::string& name : names.values()) {
      const std::size_t k = axis(name);
      sizes.push_back(shape()[k]);
      steps.push_back(stride(k));
      base -= coordinate(at, k) * stride(k);
    }
    std::vector<Device> chosen;
    for_each_position(sizes, steps, base, [&](std::int64_t i) {
      chosen.push_back(state_->grid[static_cast<std::size_t>(i)]);
    });
    return Mesh(
        DeviceGrid(MeshShape<>(std::span<const std::int64_t>(sizes.data(), sizes.size())), chosen),
        names, process_index());
  }

  /// The mesh over some of the axes, in the given order, that this process is in (PyTorch's
  /// `mesh["dp", "tp"]`).
  /// @throws ArgumentError where this process has no device in the mesh, or devices in several such
  ///   meshes
  /// @complexity O(rank + local devices + devices of the result)
  Mesh submesh(const AxisNames<>& names) const {
    if (local_positions().empty())
      throw ArgumentError(fmt::format("process {} has no device in the mesh", process_index()),
                          "name a device: submesh(axis_names, device)");
    const Device& first = state_->grid[local_positions()[0]];
    const Mesh mine = submesh(names, first);
    for (const std::uint32_t at : local_positions())
      if (!mine.contains(state_->grid[at]))
        throw ArgumentError(
            fmt::format("devices {} and {} of process {} are in different sub-meshes over {}",
                        first.id, state_->grid[at].id, process_index(), bracketed(names.values())),
            "name a device: submesh(axis_names, device)");
    return mine;
  }

  /// Same devices in the same places under the same names, seen from the same process. O(1) between
  /// copies, else O(devices).
  bool operator==(const Mesh& other) const {
    return state_ == other.state_ || *state_ == *other.state_;
  }

  /// Equal meshes have equal hashes. O(1)
  std::size_t hash() const noexcept {
    std::uint64_t h = 0xcbf29ce484222325;
    auto mix = [&](std::uint64_t value) { h = (h ^ value) * 0x100000001b3 ^ h >> 29; };
    for (const std::int64_t n : shape()) mix(static_cast<std::uint64_t>(n));
    for (const std::string& name : axis_names()) mix(std::hash<std::string>{}(name));
    constexpr std::size_t looked_at = 16;
    for (std::size_t i = 0; i < looked_at; ++i)
      mix(static_cast<std::uint64_t>(state_->grid[i * (size() - 1) / (looked_at - 1)].id));
    mix(static_cast<std::uint64_t>(process_index()));
    return static_cast<std::size_t>(h);
  }

 private:
  struct State {
    State(DeviceGrid devices, AxisNames<> axis_names, int process)
        : grid(std::move(devices)), names(std::move(axis_names)), process_index(process) {
      if (grid.size() == 0)
        throw StateError("a moved-from DeviceGrid was used", "use the mesh that it was moved to");
      if (process < 0)
        throw ArgumentError(fmt::format("a mesh seen from process {}", process),
                            "processes are counted from 0");
      const auto shape = grid.shape();
      detail::check_one_name_for_each_axis(names.values(), shape.size(), bracketed(shape));
      strides.resize(shape.size(), 1);
      for (std::size_t k = shape.size(); k-- > 1;) strides[k - 1] = strides[k] * shape[k];
      for (std::size_t i = 0; i < grid.size(); ++i)
        if (grid[i].process_index == process_index) local.push_back(static_cast<std::uint32_t>(i));
    }
    bool operator==(const State&) const = default;

    DeviceGrid grid;
    AxisNames<> names;
    MeshSizes strides;
    int process_index;
    std::vector<std::uint32_t> local;
  };

  std::size_t checked_axis(std::size_t axis) const {
    if (axis >= rank())
      throw IndexError(fmt::format("mesh axis {} of {}", axis, rank()),
                       "axes run from 0 to rank() - 1");
    return axis;
  }

  template <class F>
  static void for_each_position(const MeshSizes& sizes, const MeshSizes& steps, std::int64_t base,
                                F&& f, std::size_t k = 0) {
    if (k == sizes.size()) return f(base);
    for (std::int64_t i = 0; i < sizes[k]; ++i)
      for_each_position(sizes, steps, base + i * steps[k], f, k + 1);
  }

  std::shared_ptr<const State> state_;
};

/// "(data=4, model=2)"
inline std::string to_string(const Mesh& mesh) {
  std::string text = "(";
  for (std::size_t k = 0; k < mesh.rank(); ++k)
    text += fmt::format("{}{}={}", k ? ", " : "", mesh.axis_names()[k], mesh.shape()[k]);
  return text + ")";
}

}  // namespace v0
}  // namespace loadax

template <>
struct std::hash<loadax::Mesh> {
  std::size_t operator()(const loadax::Mesh& mesh) const noexcept { return mesh.hash(); }
};
