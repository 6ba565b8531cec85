// A job that exists only in memory: for planning, for tests, and for training on one machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/checked.hpp>
#include <loadax/core/error.hpp>
#include <loadax/device/device.hpp>
#include <loadax/device/topology.hpp>

namespace loadax {
inline namespace v0 {

/// How a simulated job's devices are shared out among processes.
enum class Processes { one, per_node, per_device };

/// Nodes of equal size. Device d of node n has id n * devices_per_node + d.
class SimulatedTopology {
 public:
  struct Options {
    int nodes = 1;
    int devices_per_node = 1;
    /// By default one process drives every device of every node.
    Processes processes = Processes::one;
    /// Which of the processes this one plays.
    int process_index = 0;
    Platform platform = Platform::cpu;
    /// The devices' make; the platform's name where empty.
    std::string kind = {};
  };

  /// @throws ArgumentError where a count is not positive, there are more than 2^31 - 1 devices, or
  ///   there is no such process
  /// @complexity O(devices)
  SimulatedTopology(const Options& options)  // NOLINT(google-explicit-constructor)
      : process_index_(options.process_index) {
    check_positive("nodes", options.nodes);
    check_positive("devices_per_node", options.devices_per_node);
    const auto count = checked_multiply<std::int32_t>(options.nodes, options.devices_per_node);
    if (!count)
      throw ArgumentError(fmt::format("SimulatedTopology: {} nodes of {} devices are too many",
                                      options.nodes, options.devices_per_node),
                          "a job has at most 2^31 - 1 devices");
    const Processes by = options.processes;
    process_count_ = by == Processes::one ? 1 : by == Processes::per_node ? options.nodes : *count;
    if (process_index_ < 0 || process_index_ >= process_count_)
      throw ArgumentError(fmt::format("SimulatedTopology: process_index {} of {} processes",
                                      process_index_, process_count_),
                          "choose from 0 to the number of processes - 1");

    const auto kind = DeviceKind::named(options.kind.empty() ? name(options.platform)
                                                             : std::string_view(options.kind));
    devices_.reserve(static_cast<std::size_t>(*count));
    for (std::int32_t node = 0, id = 0; node < options.nodes; ++node)
      for (std::int32_t local = 0; local < options.devices_per_node; ++local, ++id)
        devices_.push_back({.id = id,
                            .process_index = by == Processes::one        ? 0
                                             : by == Processes::per_node ? node
                                                                         : id,
                            .node_index = node,
                            .local_id = local,
                            .kind = kind,
                            .platform = options.platform});
  }

  int process_index() const noexcept { return process_index_; }
  int process_count() const noexcept { return process_count_; }
  std::span<const Device> devices() const noexcept { return devices_; }

 private:
  static void check_positive(const char* what, int value) {
    if (value < 1)
      throw ArgumentError(fmt::format("SimulatedTopology: {} is {}", what, value),
                          "a job has at least one node and one device on each");
  }

  int process_index_;
  int process_count_ = 1;
  std::vector<Device> devices_;
};

static_assert(DeviceTopology<SimulatedTopology>);

}  // namespace v0
}  // namespace loadax
