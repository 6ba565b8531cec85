// Letting memory run out at each allocation of an action, one after the other.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "support/resources.hpp"

namespace loadax_test {

/// Runs action() with a failure at its n-th allocation, for n = 0, 1, 2, ... until it has no more
/// than n: of that allocation alone, or of all that follow too. Each time, the action leaves as
/// many blocks as it found. It calls allocations.fail_no_more() where the trouble is to end, or
/// does not.
void run_out_of_memory(bool for_good, const auto& action) {
  action();  // what the first use takes for good
  const Resources resources;
  for (std::int64_t n = 0;; ++n) {
    INFO("allocation " << n << (for_good ? " and all after it" : ""));
    const std::ptrdiff_t live = allocations.live();
    const std::uint64_t failures = allocations.failures();
    if (for_good)
      allocations.fail_all_after(n);
    else
      allocations.fail_one_after(n);
    action();
    allocations.fail_no_more();
    // A thread frees its last things a moment after it is joined.
    for (int i = 0; i < 2000 && allocations.live() != live; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    REQUIRE(allocations.live() == live);
    if (allocations.failures() == failures) break;
  }
  CHECK(resources.unchanged());
}

}  // namespace loadax_test
