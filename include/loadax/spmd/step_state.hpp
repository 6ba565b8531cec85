// What the devices of one process share while they run a step.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/comm/any_communicator.hpp>
#include <loadax/core/barrier.hpp>
#include <loadax/core/error.hpp>
#include <loadax/mesh/mesh.hpp>
#include <loadax/placement/runtime.hpp>
#include <loadax/placement/team.hpp>
#include <loadax/spmd/arena.hpp>
#include <loadax/spmd/axis_groups.hpp>
#include <loadax/spmd/traffic.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

/// The meeting place of a step's devices. One step runs at a time; it is used again for the next.
///
/// A collective is: `meet` (all members have posted), read the posts, `part` (all have read). Where
/// a group spans processes, all local devices meet, the messages of all groups go out as one
/// exchange, and the posts of remote members then point to what was received: so members' data is
/// read, and reduced, in the same order on any number of processes.
class StepState {
 public:
  StepState(const Mesh& mesh, std::shared_ptr<Runtime> runtime)
      : mesh_(mesh),
        runtime_(std::move(runtime)),
        groups_(mesh),
        all_(static_cast<std::uint32_t>(mesh.local_positions().size())) {
    runtime_->check_runs(mesh_);
    team_ = runtime_->team(mesh_);
    for (const auto position : mesh_.local_positions())
      devices_.emplace_back(position, runtime_->memory(mesh_.devices()[position]));
  }

  const Mesh& mesh() const noexcept { return mesh_; }
  const std::shared_ptr<Runtime>& runtime() const noexcept { return runtime_; }
  AxisGroups& groups() noexcept { return groups_; }
  std::size_t position(std::size_t k) const noexcept { return devices_[k].position; }
  Arena& arena(std::size_t k) noexcept { return devices_[k].arena; }
  Traffic& traffic(std::size_t k) noexcept { return devices_[k].traffic; }

  /// What all local devices moved so far.
  Traffic total_traffic() const {
    const std::scoped_lock lock(mutex_);
    Traffic total;
    for (const auto& device : devices_) total += device.traffic;
    return total;
  }
  void reset_traffic() {
    const std::scoped_lock lock(mutex_);
    for (auto& device : devices_) device.traffic = {};
  }

  /// Runs `code(k)` for each local device k, with fresh arenas, after `prepare()`.
  /// @collective yes, among the processes of the mesh
  template <class Prepare, class Code>
  void run(Prepare&& prepare, Code&& code) {
    check_outside_step();
    const std::scoped_lock lock(mutex_);
    prepare();
    for (auto& device : devices_) device.finished.store(false, std::memory_order_relaxed);
    if (std::exchange(failed_, true)) reset_barriers();
    team_->run(
        [&](std::size_t k) {
          const ArenaRelease release{devices_[k].arena};
          code(k);
          leave(k);
        },
        [&]() noexcept { abort(); });
    failed_ = false;
  }

  /// Returns when all members of k's group have posted. @throws ArgumentError where a member does
  /// something else
  AxisGroup& meet(std::size_t k, AxisGroupSet& set, const Post& post, const char* what) {
    auto [group, index] = set.places[k];
    group->posts[index] = post;
    if (set.spans_processes) {
      wait(k, all_, nullptr, what);
      if (k == 0) exchange(set);
      wait(k, all_, nullptr, what);
    } else {
      wait(k, group->barrier, group, what);
    }
    for (std::size_t j = 0; j < group->members.size(); ++j) {
      const auto& other = group->posts[j];
      if (group->members[j].local >= 0 &&
          (other.operation != post.operation || other.bytes != post.bytes))
        throw ArgumentError(
            fmt::format("{}: device {} gives {} bytes, device {} {} ({} bytes)", what,
                        device_id(group->members[index].position), post.bytes,
                        device_id(group->members[j].position),
                        other.operation == post.operation ? "gives another size"
                                                          : "calls another collective",
                        other.bytes),
            "all devices of a group make the same calls in the same order, with equal shapes");
    }
    return *group;
  }

  /// Returns when all members have read the posts, which may change then.
  void part(std::size_t k, AxisGroupSet& set, const char* what) {
    auto* group = set.places[k].group;
    if (set.spans_processes) {
      wait(k, all_, nullptr, what);
    } else {
      wait(k, group->barrier, group, what);
    }
  }

 private:
  struct DeviceState {
    DeviceState(std::size_t at, std::shared_ptr<DeviceMemory> memory)
        : position(at), arena(std::move(memory)) {}
    std::size_t position;
    Arena arena;
    Traffic traffic;
    alignas(64) std::atomic<bool> finished{false};
  };

  struct ArenaRelease {
    Arena& arena;
    ~ArenaRelease() { arena.release(0); }
  };

  std::int64_t device_id(std::size_t position) const { return mesh_.devices()[position].id; }

  /// A device whose code has returned comes to no meeting: those who wait for it must not.
  void leave(std::size_t k) noexcept {
    devices_[k].finished.store(true, std::memory_order_seq_cst);
    bool missed = all_.has_waiters();
    for (auto* set = groups_.first(); set != nullptr; set = set->next)
      missed = missed || set->places[k].group->barrier.has_waiters();
    if (!missed) return;
    missed_.store(true, std::memory_order_seq_cst);
    abort();
  }

  /// Waits at a barrier; `group` is whose barrier it is, or null for all local devices.
  void wait(std::size_t k, AbortableBarrier& barrier, const AxisGroup* group, const char* what) {
    try {
      barrier.arrive_and_wait([&](const auto& incomplete) {
        if (aborted_.load(std::memory_order_seq_cst)) throw BarrierAborted{};
        // One that has left may have arrived before: then the meeting is complete by now.
        if (left(group) < devices_.size() && incomplete()) throw_left(k, group, what);
      });
    } catch (const BarrierAborted&) {
      if (missed_.exchange(false, std::memory_order_seq_cst)) throw_left(k, group, what);
      throw;
    }
  }

  /// A local device of a group (or any) that has left, or devices_.size().
  std::size_t left(const AxisGroup* group) const {
    const auto gone = [&](std::size_t k) {
      return devices_[k].finished.load(std::memory_order_seq_cst);
    };
    if (group == nullptr) {
      for (std::size_t k = 0; k < devices_.size(); ++k)
        if (gone(k)) return k;
    } else {
      for (const auto& member : group->members)
        if (member.local >= 0 && gone(static_cast<std::size_t>(member.local)))
          return static_cast<std::size_t>(member.local);
    }
    return devices_.size();
  }

  [[noreturn]] void throw_left(std::size_t k, const AxisGroup* group, const char* what) const {
    const auto gone = left(group);
    throw StateError(
        fmt::format("{}: device {} waits for device {}, whose code has returned", what,
                    device_id(devices_[k].position),
                    gone < devices_.size() ? fmt::format("{}", device_id(devices_[gone].position))
                                           : std::string("(another)")),
        "all devices of a group make the same calls in the same order");
  }

  /// Sends each local post to every process that has members of its group, and receives theirs.
  void exchange(AxisGroupSet& set) {
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    received_.clear();
    const auto process = [&](const AxisGroup::Member& member) {
      return mesh_.devices()[member.position].process_index;
    };
    for (auto& group : set.groups) {
      std::vector<int> peers;
      std::size_t bytes = 0;
      for (std::size_t j = 0; j < group->members.size(); ++j) {
        if (group->members[j].local >= 0) bytes = group->posts[j].bytes;
        if (group->members[j].local < 0 &&
            std::ranges::find(peers, process(group->members[j])) == peers.end())
          peers.push_back(process(group->members[j]));
      }
      for (std::size_t j = 0; j < group->members.size(); ++j) {
        auto& post = group->posts[j];
        if (group->members[j].local >= 0) {
          for (const int peer : peers)
            outgoing.push_back({peer, {static_cast<const std::byte*>(post.data), post.bytes}});
        } else {
          auto& buffer = received_.emplace_back(bytes);
          post = {buffer.data(), bytes, nullptr, 0};
          incoming.push_back({process(group->members[j]), {buffer.data(), bytes}});
        }
      }
    }
    runtime_->communicator().exchange(outgoing, incoming);
  }

  void abort() noexcept {
    aborted_.store(true, std::memory_order_seq_cst);
    all_.abort();
    for (auto* set = groups_.first(); set != nullptr; set = set->next)
      for (auto& group : set->groups) group->barrier.abort();
  }

  void reset_barriers() noexcept {
    missed_.store(false, std::memory_order_relaxed);
    aborted_.store(false, std::memory_order_relaxed);
    all_.reset();
    for (auto* set = groups_.first(); set != nullptr; set = set->next)
      for (auto& group : set->groups) group->barrier.reset();
  }

  Mesh mesh_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<Team> team_;
  AxisGroups groups_;
  AbortableBarrier all_;
  std::deque<DeviceState> devices_;
  std::deque<std::vector<std::byte>> received_;
  mutable std::mutex mutex_;
  bool failed_ = false;
  std::atomic<bool> missed_{false}, aborted_{false};
};

}  // namespace detail
}  // namespace v0
}  // namespace loadax
