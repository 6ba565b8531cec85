// What a loader does where a sample cannot be loaded.
#pragma once

#include <cstddef>

namespace loadax {
inline namespace v0 {

/// What becomes of a sample whose reading, transform or collating throws:
///  - `OnError::raise()`: the exception is thrown, as it was, in place of the sample's batch;
///  - `OnError::skip()`: its row is zero and false in the batch's `mask()`, which every batch of
///    such a loader has;
///  - `OnError::retry(n)`: it is tried again, up to n times, then as `raise()`;
///  - `OnError::retry(n).then_skip()`: ... then as `skip()`.
/// Failures that are not of one sample (of memory for a batch, of an epoch's view) are thrown
/// whatever the policy.
class OnError {
 public:
  static constexpr OnError raise() noexcept { return {0, false}; }
  static constexpr OnError skip() noexcept { return {0, true}; }
  static constexpr OnError retry(std::size_t retries) noexcept { return {retries, false}; }
  constexpr OnError then_skip() const noexcept { return {retries_, true}; }

  /// How often a sample is tried again.
  constexpr std::size_t retries() const noexcept { return retries_; }
  /// Whether a sample that cannot be loaded is skipped.
  constexpr bool skips() const noexcept { return skips_; }

  bool operator==(const OnError&) const = default;

 private:
  constexpr OnError(std::size_t retries, bool skips) noexcept : retries_(retries), skips_(skips) {}

  std::size_t retries_;
  bool skips_;
};

}  // namespace v0
}  // namespace loadax
