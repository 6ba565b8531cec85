// The devices that take part in one collective together.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/core/inline_vector.hpp>
#include <loadax/core/meeting.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/mesh/mesh.hpp>
#include <loadax/sharding/partition_spec.hpp>

namespace loadax {
inline namespace v0 {

/// One or several axes of a mesh, by name, as collectives take them: `"model"`, or
/// `axes("data", "model")`, the first one major. Refers to its argument.
class AxisList {
 public:
  AxisList(const char* name) : single_(name) {}         // NOLINT(google-explicit-constructor)
  AxisList(std::string_view name) : single_(name) {}    // NOLINT(google-explicit-constructor)
  AxisList(const std::string& name) : single_(name) {}  // NOLINT(google-explicit-constructor)
  AxisList(const Axes& axes) : several_(&axes) {}       // NOLINT(google-explicit-constructor)

  /// The axes' numbers in a mesh. @throws ArgumentError for an unknown axis, or one named twice
  InlineVector<std::size_t, max_rank> in(const Mesh& mesh) const {
    InlineVector<std::size_t, max_rank> numbers;
    const auto add = [&](std::string_view name) {
      const std::size_t axis = mesh.axis(name);
      if (std::ranges::find(numbers, axis) != numbers.end())
        throw ArgumentError(fmt::format("axis '{}' is named twice", name), "name each axis once");
      numbers.push_back(axis);
    };
    if (several_ == nullptr) {
      add(single_);
    } else {
      for (const auto& name : several_->names) add(name);
    }
    return numbers;
  }

 private:
  std::string_view single_;
  const Axes* several_ = nullptr;
};

namespace detail {

/// What a device shows to the others of its group during a collective.
struct Post {
  const void* data = nullptr;
  std::size_t bytes = 0;
  /// Where a result is being put together, for those who read it when it is complete.
  const void* result = nullptr;
  /// Which operation, with its parameters: equal on all members.
  std::uint64_t operation = 0;
};

/// The devices of a mesh that differ only along some axes, in order of their index along those.
struct AxisGroup {
  explicit AxisGroup(std::uint32_t local_members) : meeting(local_members) {}

  struct Member {
    std::size_t position;
    /// Number among the local devices, or -1 in another process.
    std::int64_t local;
  };

  std::vector<Member> members;
  std::vector<Post> posts;
  /// Of the members in this process.
  Meeting meeting;
};

/// All groups along the same axes that have members in this process.
struct AxisGroupSet {
  std::vector<std::unique_ptr<AxisGroup>> groups;
  struct Place {
    AxisGroup* group;
    std::size_t index;
  };
  /// For each local device.
  std::vector<Place> places;
  /// Whether a group along these axes, anywhere in the mesh, has members in several processes.
  bool spans_processes = false;
  /// The axes in their order, packed.
  std::uint64_t key = 0;
  AxisGroupSet* next = nullptr;
};

static_assert(max_rank <= 8, "a set's key has a byte for each axis");

/// The group sets of a mesh, each made when it is first used and then found without a lock.
/// Thread-safe.
class AxisGroups {
 public:
  explicit AxisGroups(Mesh mesh) : mesh_(std::move(mesh)) {}

  /// @throws ArgumentError for unknown or repeated axes, and for none
  AxisGroupSet& set(const AxisList& list) {
    const auto axes = list.in(mesh_);
    if (axes.empty())
      throw ArgumentError("a collective over no axis", "name the axes that it runs over");
    std::uint64_t key = 0;
    for (const auto axis : axes) key = key << 8 | (axis + 1);
    if (auto* found = find(key)) return *found;
    const std::scoped_lock lock(mutex_);
    if (auto* found = find(key)) return *found;
    sets_.push_back(make(axes));
    AxisGroupSet& set = *sets_.back();
    set.key = key;
    set.next = first();
    first_.store(&set, std::memory_order_seq_cst);
    return set;
  }

  /// All sets made so far, as a list.
  AxisGroupSet* first() const noexcept { return first_.load(std::memory_order_seq_cst); }

 private:
  AxisGroupSet* find(std::uint64_t key) const noexcept {
    auto* set = first();
    while (set != nullptr && set->key != key) set = set->next;
    return set;
  }

  std::unique_ptr<AxisGroupSet> make(const InlineVector<std::size_t, max_rank>& axes) const {
    auto set = std::make_unique<AxisGroupSet>();
    const auto locals = mesh_.local_positions();
    // A group is known by its members' coordinates along the other axes; walking each group from
    // its members keeps mesh order.
    std::map<std::size_t, std::vector<std::size_t>> members_of;
    for (std::size_t position = 0; position < mesh_.size(); ++position)
      members_of[key_of(position, axes, false)].push_back(position);
    std::map<std::size_t, AxisGroup*> made;
    for (auto& [key, positions] : members_of) {
      std::ranges::sort(positions, {}, [&](std::size_t p) { return key_of(p, axes, true); });
      std::vector<AxisGroup::Member> members;
      std::uint32_t local_count = 0;
      bool several = false;
      for (const auto position : positions) {
        const auto at = std::ranges::lower_bound(locals, position);
        const bool local = at != locals.end() && *at == position;
        members.push_back({position, local ? at - locals.begin() : -1});
        local_count += local ? 1 : 0;
        several = several || mesh_.devices()[position].process_index !=
                                 mesh_.devices()[positions[0]].process_index;
      }
      set->spans_processes = set->spans_processes || several;
      if (local_count == 0) continue;
      auto group = std::make_unique<AxisGroup>(local_count);
      group->posts.resize(members.size());
      group->members = std::move(members);
      made[key] = group.get();
      set->groups.push_back(std::move(group));
    }
    for (const auto position : locals) {
      AxisGroup* group = made.at(key_of(position, axes, false));
      std::size_t index = 0;
      while (group->members[index].position != position) ++index;
      set->places.push_back({group, index});
    }
    return set;
  }

  /// The mixed-radix number of a position's coordinates along `axes` in their order, or along all
  /// the others.
  std::size_t key_of(std::size_t position, const InlineVector<std::size_t, max_rank>& axes,
                     bool along) const {
    std::size_t key = 0;
    const auto digit = [&](std::size_t axis) {
      key = key * static_cast<std::size_t>(mesh_.shape()[axis]) +
            static_cast<std::size_t>(mesh_.coordinate(position, axis));
    };
    if (along) {
      for (const auto axis : axes) digit(axis);
    } else {
      for (std::size_t axis = 0; axis < mesh_.rank(); ++axis)
        if (std::ranges::find(axes, axis) == axes.end()) digit(axis);
    }
    return key;
  }

  Mesh mesh_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<AxisGroupSet>> sets_;
  std::atomic<AxisGroupSet*> first_{nullptr};
};

}  // namespace detail
}  // namespace v0
}  // namespace loadax
