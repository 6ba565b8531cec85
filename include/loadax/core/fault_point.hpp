// Points in the library at which a test may make something go wrong.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace loadax {
inline namespace v0 {
namespace detail {

/// Called with the point's name and what the code was at, a sample or a batch. It may throw or
/// wait, as the user's code could there.
using FaultHook = void (*)(std::string_view point, std::uint64_t at);

/// None but in tests.
inline constinit std::atomic<FaultHook> fault_hook{nullptr};

/// One load and a branch that is never taken.
inline void fault_point(std::string_view point, std::uint64_t at) {
  if (const FaultHook hook = fault_hook.load(std::memory_order_acquire)) [[unlikely]]
    hook(point, at);
}

}  // namespace detail
}  // namespace v0
}  // namespace loadax
