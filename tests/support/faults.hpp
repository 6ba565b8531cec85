// Making the library fail at its fault points.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include <loadax/core/fault_point.hpp>

namespace loadax_test {

/// While it lives, `action(point, at)` is called at each fault point, by any thread. It may throw.
/// One at a time, and no longer than the loaders that it works on.
class FaultInjector {
 public:
  using Action = std::function<void(std::string_view point, std::uint64_t at)>;

  explicit FaultInjector(Action action) {
    current() = std::move(action);
    loadax::detail::fault_hook.store(
        [](std::string_view point, std::uint64_t at) { current()(point, at); },
        std::memory_order_release);
  }
  ~FaultInjector() { loadax::detail::fault_hook.store(nullptr, std::memory_order_release); }
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

 private:
  static Action& current() {
    static Action action;
    return action;
  }
};

}  // namespace loadax_test
