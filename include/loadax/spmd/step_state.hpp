// What the devices of one process share while they run a step.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/comm/any_communicator.hpp>
#include <loadax/core/barrier.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/meeting.hpp>
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
/// In a collective, the members of a group post what they have, meet, read each other's posts, and
/// part when all have read. Where groups span processes, all local devices meet, the messages of
/// all groups go out as one exchange, and the posts of remote members then point to what was
/// received: members' data is read, and reduced, in the same order on any number of processes.
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
    check_outside_step();
    const std::scoped_lock lock(mutex_);
    Traffic total;
    for (const auto& device : devices_) total += device.traffic;
    return total;
  }
  void reset_traffic() {
    check_outside_step();
    const std::scoped_lock lock(mutex_);
    for (auto& device : devices_) device.traffic = {};
  }

  /// Runs `code(k)` for each local device k, with fresh arenas, after `prepare()`.
  /// @throws StateError where the devices made different collective calls
  /// @collective yes, among the processes of the mesh
  template <class Prepare, class Code>
  void run(Prepare&& prepare, Code&& code) {
    check_outside_step();
    const std::scoped_lock lock(mutex_);
    prepare();
    if (std::exchange(failed_, true)) reset_barriers();
    for (auto& device : devices_) device.start();
    waiting_.store(0, std::memory_order_relaxed);
    running_.store(static_cast<std::int64_t>(devices_.size()), std::memory_order_relaxed);
    team_.run(
        [&](std::size_t k) {
          const ArenaRelease release{devices_[k].arena};
          code(k);
          leave(k);
        },
        [&]() noexcept { abort(); });
    if (aborted_.load(std::memory_order_seq_cst))
      throw StateError(
          "the step failed, and the code of a device caught the exception that says why",
          "let the exceptions of collectives pass");
    failed_ = false;
    check_same_calls();
  }

  /// Shows `post` to k's group, calls `read(group, wait)` when all members have posted, and returns
  /// when all have read. `wait()` lets the members wait for each other in between.
  /// @throws ArgumentError where a member does something else
  template <class Read>
  void meet(std::size_t k, AxisGroupSet& set, const Post& post, const char* what, Read&& read) {
    if (aborted_.load(std::memory_order_seq_cst)) throw BarrierAborted{};
    auto& [group, index] = set.places[k];
    devices_[k].note_call(set, post.operation);
    group->posts[index] = post;
    const AxisGroup* waited_for = set.spans_processes ? nullptr : group;
    Meeting& meeting = set.spans_processes ? all_ : group->meeting;
    const auto wait = [&] { this->wait(k, meeting.barrier(), waited_for, what); };
    meeting.meet(
        wait,
        [&] {
          if (set.spans_processes) check_same_groups(k, what);
          check_posts(*group, index, what);
          if (set.spans_processes) {
            wait();
            if (k == 0) exchange(set, what);
            wait();
          }
          read(*group, wait);
        },
        [&] { abort(); });
  }

 private:
  struct DeviceState {
    DeviceState(std::size_t at, std::shared_ptr<DeviceMemory> memory)
        : position(at), arena(std::move(memory)) {}

    void start() noexcept {
      calls = calls_hash = 0;
      finished.store(false, std::memory_order_relaxed);
    }
    void note_call(const AxisGroupSet& set, std::uint64_t operation) noexcept {
      ++calls;
      calls_hash = (calls_hash ^ set.key ^ (operation << 1)) * 0x100000001b3;
      groups = &set;
    }

    std::size_t position;
    Arena arena;
    Traffic traffic;
    /// Number and kind of the step's collective calls so far, and the groups of the last one.
    std::uint64_t calls = 0, calls_hash = 0;
    const AxisGroupSet* groups = nullptr;
    alignas(64) std::atomic<bool> finished{false};
  };

  struct ArenaRelease {
    Arena& arena;
    ~ArenaRelease() { arena.release(0); }
  };

  /// What goes before a post in an exchange, to be compared.
  using Header = std::array<std::uint64_t, 2>;
  static Header header_of(const Post& post) { return {post.operation, post.bytes}; }

  std::int64_t device_id(std::size_t position) const { return mesh_.devices()[position].id; }

  /// Collectives over some groups only would work on one process and hang on several: a program
  /// makes the same calls on all devices, as in JAX.
  void check_same_calls() const {
    for (const auto& device : devices_)
      if (device.calls != devices_[0].calls || device.calls_hash != devices_[0].calls_hash)
        throw StateError(
            fmt::format("device {} made {} collective calls, device {} made {}{}",
                        device_id(devices_[0].position), devices_[0].calls,
                        device_id(device.position), device.calls,
                        device.calls == devices_[0].calls ? ", of other kinds" : ""),
            "all devices of the mesh make the same calls in the same order, with equal shapes");
  }

  /// That all local devices are in the collective over the same axes, which is one exchange.
  void check_same_groups(std::size_t k, const char* what) const {
    for (const auto& device : devices_)
      if (device.groups != devices_[k].groups)
        throw ArgumentError(
            fmt::format("{}: devices {} and {} call collectives over different axes", what,
                        device_id(devices_[k].position), device_id(device.position)),
            "all devices of the mesh make the same calls in the same order");
  }

  /// A device whose code has returned comes to no meeting: those who wait for it must not.
  void leave(std::size_t k) noexcept {
    devices_[k].finished.store(true, std::memory_order_seq_cst);
    const auto running = running_.fetch_sub(1, std::memory_order_seq_cst) - 1;
    bool missed = all_.barrier().has_waiters() ||
                  (running > 0 && waiting_.load(std::memory_order_seq_cst) == running);
    for (auto* set = groups_.first(); set != nullptr; set = set->next)
      missed = missed || set->places[k].group->meeting.barrier().has_waiters();
    if (!missed) return;
    missed_.store(static_cast<std::int64_t>(k), std::memory_order_seq_cst);
    abort();
  }

  /// Waits at a barrier; `group` is whose barrier it is, or null for all local devices.
  void wait(std::size_t k, AbortableBarrier& barrier, const AxisGroup* group, const char* what) {
    try {
      barrier.arrive_and_wait(
          [&](const auto& incomplete) {
            if (aborted_.load(std::memory_order_seq_cst)) {
              // So that this arrival cannot complete a meeting together with a later one.
              barrier.abort();
              throw BarrierAborted{};
            }
            // One that has left may have arrived before: then the meeting is complete by now.
            const auto gone = left(group);
            if (gone < devices_.size() && incomplete()) throw_left(k, gone, what);
            // Counted before this one is: others may go on and leave as soon as it is.
            const auto running = running_.load(std::memory_order_seq_cst);
            if (waiting_.fetch_add(1, std::memory_order_seq_cst) + 1 == running && incomplete())
              throw_all_wait(k, what);
          },
          [&](std::uint32_t released) { waiting_.fetch_sub(released, std::memory_order_seq_cst); });
    } catch (const BarrierAborted&) {
      const auto gone = missed_.exchange(-1, std::memory_order_seq_cst);
      if (gone >= 0) throw_left(k, static_cast<std::size_t>(gone), what);
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

  [[noreturn]] void throw_left(std::size_t k, std::size_t gone, const char* what) const {
    throw StateError(
        fmt::format("{}: device {} waits for device {}, whose code has returned", what,
                    device_id(devices_[k].position), device_id(devices_[gone].position)),
        "all devices of the mesh make the same calls in the same order");
  }

  /// Each device waits at a meeting that others have not come to.
  [[noreturn]] void throw_all_wait(std::size_t k, const char* what) const {
    throw StateError(fmt::format("{}: device {} waits, and so does every other device, for "
                                 "different collectives",
                                 what, device_id(devices_[k].position)),
                     "all devices of the mesh make the same calls in the same order");
  }

  [[noreturn]] void throw_differs(const char* what, std::size_t position, const Header& mine,
                                  std::size_t other, const Header& theirs) const {
    throw ArgumentError(
        fmt::format("{}: device {} gives {} bytes, device {} {} ({} bytes)", what,
                    device_id(position), mine[1], device_id(other),
                    mine[1] != theirs[1] ? "gives another size"
                                         : "calls another collective, or with another shape",
                    theirs[1]),
        "all devices of the mesh make the same calls in the same order, with equal shapes");
  }

  void check_posts(const AxisGroup& group, std::size_t index, const char* what) const {
    const Header mine = header_of(group.posts[index]);
    for (std::size_t j = 0; j < group.members.size(); ++j)
      if (group.members[j].local >= 0 && header_of(group.posts[j]) != mine)
        throw_differs(what, group.members[index].position, mine, group.members[j].position,
                      header_of(group.posts[j]));
  }

  /// Sends each local post to every process that has members of its group, and receives theirs.
  void exchange(AxisGroupSet& set, const char* what) {
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    std::deque<Header> sent, received;
    received_.clear();
    const auto process = [&](const AxisGroup::Member& member) {
      return mesh_.devices()[member.position].process_index;
    };
    const auto local_post = [](AxisGroup& group) -> Post& {
      std::size_t j = 0;
      while (group.members[j].local < 0) ++j;
      return group.posts[j];
    };
    for (auto& group : set.groups) {
      std::vector<int> peers;
      for (const auto& member : group->members)
        if (member.local < 0 && std::ranges::find(peers, process(member)) == peers.end())
          peers.push_back(process(member));
      const std::size_t bytes = local_post(*group).bytes;
      for (std::size_t j = 0; j < group->members.size(); ++j) {
        auto& post = group->posts[j];
        if (group->members[j].local >= 0) {
          sent.push_back(header_of(post));
          for (const int peer : peers) {
            outgoing.push_back({peer, std::as_bytes(std::span(sent.back()))});
            outgoing.push_back({peer, {static_cast<const std::byte*>(post.data), post.bytes}});
          }
        } else {
          auto& buffer = received_.emplace_back(bytes);
          auto& header = received.emplace_back();
          post = {buffer.data(), bytes, nullptr, 0};
          incoming.push_back(
              {process(group->members[j]), std::as_writable_bytes(std::span(header))});
          incoming.push_back({process(group->members[j]), {buffer.data(), bytes}});
        }
      }
    }
    runtime_->with_communicator([&](AnyCommunicator& comm) { comm.exchange(outgoing, incoming); });
    std::size_t next = 0;
    for (auto& group : set.groups) {
      const Header mine = header_of(local_post(*group));
      for (const auto& member : group->members)
        if (member.local < 0 && received[next++] != mine)
          throw_differs(what, position(0), mine, member.position, received[next - 1]);
    }
  }

  void abort() noexcept {
    aborted_.store(true, std::memory_order_seq_cst);
    all_.barrier().abort();
    for (auto* set = groups_.first(); set != nullptr; set = set->next)
      for (auto& group : set->groups) group->meeting.barrier().abort();
  }

  void reset_barriers() noexcept {
    missed_.store(-1, std::memory_order_relaxed);
    aborted_.store(false, std::memory_order_relaxed);
    all_.barrier().reset();
    for (auto* set = groups_.first(); set != nullptr; set = set->next)
      for (auto& group : set->groups) group->meeting.barrier().reset();
  }

  Mesh mesh_;
  std::shared_ptr<Runtime> runtime_;
  MeshTeam team_;
  AxisGroups groups_;
  Meeting all_;
  std::deque<DeviceState> devices_;
  std::deque<std::vector<std::byte>> received_;
  mutable std::mutex mutex_;
  bool failed_ = false;
  std::atomic<bool> aborted_{false};
  /// The local device that left while others waited for it, or -1.
  std::atomic<std::int64_t> missed_{-1};
  /// Local devices that wait at a barrier, and those whose code has not returned.
  std::atomic<std::int64_t> waiting_{0}, running_{0};
};

}  // namespace detail
}  // namespace v0
}  // namespace loadax
