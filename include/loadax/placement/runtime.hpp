// What executes for a mesh in this process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/comm/any_communicator.hpp>
#include <loadax/comm/in_process.hpp>
#include <loadax/core/error.hpp>
#include <loadax/device/device.hpp>
#include <loadax/mesh/mesh.hpp>
#include <loadax/mesh/scope.hpp>
#include <loadax/placement/device_memory.hpp>
#include <loadax/placement/team.hpp>

namespace loadax {
inline namespace v0 {

/// A team's threads as a mesh numbers its local devices.
class MeshTeam {
 public:
  /// No team: to run it is a StateError.
  MeshTeam() = default;
  MeshTeam(std::shared_ptr<Team> team, std::vector<std::size_t> local_number)
      : team_(std::move(team)), local_number_(std::move(local_number)) {}

  /// As Team::run, with `code(k)` for local device k of the mesh, in order of
  /// `mesh.local_positions()`, on that device's thread.
  template <class Code, class OnFailure>
  void run(Code&& code, OnFailure&& on_failure) {
    if (!team_) throw StateError("an empty MeshTeam was used", "take one from Runtime::team");
    team_->run([&](std::size_t thread) { code(local_number_[thread]); },
               std::forward<OnFailure>(on_failure));
  }
  template <class Code>
  void run(Code&& code) {
    run(std::forward<Code>(code), [] {});
  }

  /// The threads themselves.
  const std::shared_ptr<Team>& threads() const noexcept { return team_; }

 private:
  std::shared_ptr<Team> team_;
  std::vector<std::size_t> local_number_;
};

/// The engine of one process: a communicator to the other processes, the memory of each local
/// device, and teams of threads that run the devices' code. Thread-safe.
class Runtime {
 public:
  /// Makes the memory of a device when it is first used.
  using MemoryFactory = std::function<std::shared_ptr<DeviceMemory>(const Device&)>;

  /// One process, devices in host memory.
  Runtime() : Runtime(InProcessCommunicator()) {}
  /// @throws ArgumentError for an empty factory
  explicit Runtime(AnyCommunicator communicator, MemoryFactory make_memory = host_memory)
      : process_index_(communicator.rank()),
        process_count_(communicator.size()),
        communicator_(std::move(communicator)),
        make_memory_(std::move(make_memory)) {
    if (!make_memory_)
      throw ArgumentError("a Runtime without a function that makes its memories",
                          "leave it out for host memory");
  }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  int process_index() const noexcept { return process_index_; }
  int process_count() const noexcept { return process_count_; }

  /// Calls `use(communicator)`; one thread at a time. All processes must make their collective
  /// calls in the same order, so steps over meshes of several processes do not run side by side.
  template <class Use>
  decltype(auto) with_communicator(Use&& use) {
    const std::scoped_lock lock(communicator_mutex_);
    return std::forward<Use>(use)(communicator_);
  }

  /// The memory of a local device; the same object at each call.
  /// @throws StateError where the factory gives none
  std::shared_ptr<DeviceMemory> memory(const Device& device) {
    const std::scoped_lock lock(mutex_);
    auto& memory = memories_[device.id];
    if (!memory) memory = make_memory_(device);
    if (!memory)
      throw StateError(
          fmt::format("the Runtime's function made no memory for device {}", device.id),
          "it must return a DeviceMemory for each local device");
    return memory;
  }

  /// The threads of the mesh's local devices. Meshes of the same devices share them, in whatever
  /// order; they live as long as the runtime.
  MeshTeam team(const Mesh& mesh) {
    std::vector<std::int64_t> ids;
    for (const auto position : mesh.local_positions()) ids.push_back(mesh.devices()[position].id);
    auto sorted = ids;
    std::ranges::sort(sorted);
    std::vector<std::size_t> local_number(ids.size());
    for (std::size_t k = 0; k < ids.size(); ++k)
      local_number[static_cast<std::size_t>(std::ranges::lower_bound(sorted, ids[k]) -
                                            sorted.begin())] = k;
    const std::scoped_lock lock(mutex_);
    auto& team = teams_[sorted];
    if (!team) team = std::make_shared<Team>(ids.size());
    return {team, std::move(local_number)};
  }

  /// That this runtime can run collective code on the mesh: it is the process that the mesh was
  /// made in, and reaches all processes of the mesh.
  /// @throws StateError
  void check_runs(const Mesh& mesh) const {
    if (mesh.local_positions().empty())
      throw StateError(fmt::format("the mesh has no device of process {}", mesh.process_index()),
                       "each process that runs a step needs a device of its mesh");
    if (mesh.local_positions().size() == mesh.size()) return;
    int processes = 0;
    for (const Device& device : mesh.devices())
      processes = std::max(processes, device.process_index + 1);
    if (mesh.process_index() == process_index() && processes <= process_count()) return;
    throw StateError(
        fmt::format("the mesh spans {} processes and was made by process {}, the runtime is "
                    "process {} of {}",
                    processes, mesh.process_index(), process_index(), process_count()),
        "run the program under its launcher, or use a topology whose devices are all local");
  }

 private:
  static std::shared_ptr<DeviceMemory> host_memory(const Device&) {
    return std::make_shared<HostMemory>();
  }

  int process_index_, process_count_;
  std::mutex communicator_mutex_;
  AnyCommunicator communicator_;
  MemoryFactory make_memory_;
  std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<DeviceMemory>> memories_;
  std::map<std::vector<std::int64_t>, std::shared_ptr<Team>> teams_;
};

namespace detail {

struct DefaultRuntime {
  std::mutex mutex;
  std::shared_ptr<Runtime> runtime = std::make_shared<Runtime>();
};

inline DefaultRuntime& default_runtime() {
  // Never destroyed: device threads may still wait when the program ends.
  static auto* state = new DefaultRuntime;
  return *state;
}

}  // namespace detail

/// Makes `runtime` what is used where no scope names one; returns the one before. A null one
/// restores one process and host memory. Thread-safe.
inline std::shared_ptr<Runtime> set_default_runtime(std::shared_ptr<Runtime> runtime) {
  if (!runtime) runtime = std::make_shared<Runtime>();
  auto& state = detail::default_runtime();
  const std::scoped_lock lock(state.mutex);
  return std::exchange(state.runtime, std::move(runtime));
}

/// The runtime of the innermost MeshScope that names one, else the default one. Thread-safe.
inline std::shared_ptr<Runtime> current_runtime() {
  if (const auto* context = detail::current_mesh_context(); context && context->runtime)
    return context->runtime;
  auto& state = detail::default_runtime();
  const std::scoped_lock lock(state.mutex);
  return state.runtime;
}

}  // namespace v0
}  // namespace loadax
