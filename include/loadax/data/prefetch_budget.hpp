// A limit to the bytes of the batches that a loader holds.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include <fmt/core.h>

#include <loadax/core/error.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

/// Lets batches have memory, in their order, as long as all that are held fit into a limit. The
/// memory of a slot that holds no batch waits there for the next one, and is freed where another
/// slot needs it. Thread-safe. Without a limit, nothing is counted.
class PrefetchBudget {
 public:
  PrefetchBudget(std::optional<std::size_t> limit, std::size_t slots)
      : limit_(limit),
        slots_(slots),
        accounts_(limit ? std::make_unique<Account[]>(slots) : nullptr) {}

  bool has_limit() const noexcept { return limit_.has_value(); }

  /// Waits until the batches before k have their memory and k's bytes fit, and charges them to its
  /// slot. `release(slot)` frees the memory of a slot that holds no batch. False where is_passed()
  /// came first: it is looked at after each give_back() and wake().
  /// @throws ArgumentError where the batch alone is larger than the limit
  template <class Release, class IsPassed>
  bool admit(std::uint64_t k, std::size_t bytes, Release&& release, IsPassed&& is_passed) {
    std::unique_lock lock(mutex_);
    const std::size_t slot = slot_of(k);
    Account& account = accounts_[slot];
    if (bytes > *limit_)
      throw ArgumentError(
          fmt::format("batch {} takes {} bytes, where max_prefetch_bytes is {}", k, bytes, *limit_),
          "raise max_prefetch_bytes, or make batches smaller");
    for (;;) {
      changed_.wait(lock, [&] { return is_passed() || next_ >= k; });
      if (is_passed()) return false;
      if (!fits(account, bytes)) release_idle(slot, release);
      if (fits(account, bytes)) break;
      const std::uint64_t seen = given_back_;
      changed_.wait(lock, [&] { return is_passed() || given_back_ != seen; });
    }
    held_ += bytes - account.bytes;
    account = {bytes, true};
    go_on_behind(k);
    return true;
  }

  /// Batch k needs no memory.
  template <class IsPassed>
  void forgo(std::uint64_t k, IsPassed&& is_passed) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_passed() || next_ >= k; });
    go_on_behind(k);
  }

  /// Nobody uses batch k's memory any more.
  void give_back(std::uint64_t k) noexcept {
    const std::scoped_lock lock(mutex_);
    accounts_[slot_of(k)].in_use = false;
    ++given_back_;
    changed_.notify_all();
  }

  /// The consumer has no use for the batches before k.
  void pass_to(std::uint64_t k) noexcept {
    const std::scoped_lock lock(mutex_);
    if (k > next_) next_ = k;
    changed_.notify_all();
  }

 private:
  struct Account {
    std::size_t bytes = 0;
    bool in_use = false;
  };

  std::size_t slot_of(std::uint64_t k) const noexcept {
    return static_cast<std::size_t>(k % slots_);
  }
  bool fits(const Account& account, std::size_t bytes) const noexcept {
    return held_ - account.bytes <= *limit_ - bytes;
  }
  template <class Release>
  void release_idle(std::size_t own, Release& release) {
    for (std::size_t i = 0; i < slots_; ++i) {
      Account& account = accounts_[i];
      if (i == own || account.in_use || account.bytes == 0) continue;
      release(i);
      held_ -= account.bytes;
      account.bytes = 0;
    }
  }
  void go_on_behind(std::uint64_t k) noexcept {
    if (next_ <= k) next_ = k + 1;
    changed_.notify_all();
  }

  std::optional<std::size_t> limit_;
  std::size_t slots_;
  std::unique_ptr<Account[]> accounts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;        // batches before it have their memory, or need none
  std::uint64_t given_back_ = 0;  // how often
  std::size_t held_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace loadax
