// Many copies into and out of the memories of a process's devices, run at once.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <loadax/array/leaf_path.hpp>
#include <loadax/core/error.hpp>
#include <loadax/mesh/mesh.hpp>
#include <loadax/placement/device_memory.hpp>
#include <loadax/placement/runtime.hpp>
#include <loadax/placement/strided_copy.hpp>
#include <loadax/placement/team.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

/// Copies that are collected per local device and then run together: large ones by the devices'
/// own threads. The buffers must outlive `run`.
class CopyBatch {
 public:
  enum class Direction { in, out, between };

  explicit CopyBatch(std::size_t devices) : devices_(devices) {}

  /// A copy for local device k: into `memory`, out of it, or from `source` into it.
  void add(std::size_t k, Direction direction, const StridedCopy& copy, DeviceMemory& memory,
           DeviceMemory* source = nullptr) {
    if (copies_.empty()) copies_.resize(devices_);
    copies_[k].push_back({copy, direction, &memory, source});
    bytes_ += copy.bytes();
  }

  /// Runs all copies; returns when they are done.
  /// @throws StateError where it is called from the code of a device
  void run(Runtime& runtime, const Mesh& mesh) {
    check_outside_step();
    if (copies_.empty()) return;
    if (bytes_ < worth_threads) {
      for (std::size_t k = 0; k < copies_.size(); ++k) run_device(k);
    } else {
      runtime.team(mesh).run([this](std::size_t k) { run_device(k); });
    }
  }

 private:
  static constexpr std::size_t worth_threads = std::size_t{1} << 18;

  struct Copy {
    StridedCopy copy;
    Direction direction;
    DeviceMemory* memory;
    DeviceMemory* source;
  };

  /// Copies that have begun: waited for also where a later one cannot begin.
  class Pending {
   public:
    void add(Event event) { events_.push_back(std::move(event)); }
    void wait() {
      while (!events_.empty()) {
        const Event event = std::move(events_.back());
        events_.pop_back();
        event.wait();
      }
    }
    ~Pending() {
      while (!events_.empty()) {
        try {
          wait();
        } catch (...) {  // another failure is already on its way
        }
      }
    }

   private:
    std::vector<Event> events_;
  };

  void run_device(std::size_t k) const {
    Pending pending;
    for (const auto& [copy, direction, memory, source] : copies_[k]) {
      switch (direction) {
        case Direction::in:
          pending.add(memory->copy_in(copy));
          break;
        case Direction::out:
          pending.add(memory->copy_out(copy));
          break;
        case Direction::between:
          pending.add(memory->copy_between(copy, *source));
          break;
      }
    }
    pending.wait();
  }

  std::size_t devices_;
  std::vector<std::vector<Copy>> copies_;
  std::size_t bytes_ = 0;
};

/// Runs `work()`; what it throws about a leaf names it.
template <class Work>
decltype(auto) naming_leaf(const LeafPath& path, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const ArgumentError& error) {
    throw with_context(path.prefix(), error);
  } catch (const NotSupportedError& error) {
    throw with_context(path.prefix(), error);
  } catch (const StateError& error) {
    throw with_context(path.prefix(), error);
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace loadax
