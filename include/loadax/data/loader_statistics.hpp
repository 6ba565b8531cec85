// What a loader did, and how fast.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace loadax {
inline namespace v0 {

/// Of one pass, or one stream, from its start until now. Counts of this process.
struct LoaderStatistics {
  std::uint64_t batches = 0;  ///< delivered
  std::uint64_t samples = 0;  ///< in delivered batches; skipped ones and padding are none
  std::uint64_t bytes = 0;    ///< of delivered batches' arrays, copies on several devices included
  std::uint64_t skipped = 0;  ///< samples, also in batches not delivered yet
  std::uint64_t retried = 0;  ///< how often a sample was tried again
  std::chrono::nanoseconds elapsed{0};
  /// How long the program waited for batches; with num_workers = 0, how long it loaded them.
  std::chrono::nanoseconds consumer_waited{0};
  /// Summed over the workers: loading, and waiting for the program or for each other.
  std::chrono::nanoseconds workers_busy{0}, workers_idle{0};
  std::size_t workers = 0;
  /// Batches that are loaded and not yet passed, the current one included.
  std::size_t queue_depth = 0;
  /// The same on average over the moments at which a batch was first asked for: near 0 where
  /// loading is the bottleneck, near `queue_capacity` where the program is.
  double mean_queue_depth = 0;
  std::size_t queue_capacity = 0;

  double samples_per_second() const noexcept { return per_second(samples); }
  double bytes_per_second() const noexcept { return per_second(bytes); }

 private:
  double per_second(std::uint64_t count) const noexcept {
    const double seconds = std::chrono::duration<double>(elapsed).count();
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
  }
};

}  // namespace v0
}  // namespace loadax
