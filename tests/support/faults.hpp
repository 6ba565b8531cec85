// Making the library fail at its fault points.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include <loadax/core/fault_point.hpp>

namespace loadax_test {

/// While it lives, `action(point, at)` is called at each fault point, by any thread. It may throw,
/// or wait. One at a time. A thread that is in the action may outlive this, and co-owns the action.
class FaultInjector {
 public:
  using Action = std::function<void(std::string_view point, std::uint64_t at)>;

  explicit FaultInjector(Action action) {
    set(std::make_shared<const Action>(std::move(action)));
    loadax::detail::fault_hook.store(
        [](std::string_view point, std::uint64_t at) {
          if (const auto current = get()) (*current)(point, at);
        },
        std::memory_order_release);
  }
  ~FaultInjector() {
    loadax::detail::fault_hook.store(nullptr, std::memory_order_release);
    set(nullptr);
  }
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

 private:
  using Shared = std::shared_ptr<const Action>;

  static inline std::mutex mutex;
  static inline Shared action_in_force;

  static Shared get() {
    const std::scoped_lock lock(mutex);
    return action_in_force;
  }
  static void set(Shared action) {
    const std::scoped_lock lock(mutex);
    action_in_force.swap(action);
  }
};

}  // namespace loadax_test
