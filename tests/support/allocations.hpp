// Counts what the program allocates, and may let allocations fail. Include it in one file of an
// executable: it replaces operator new and delete.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <new>

namespace loadax_test {

/// Thread-safe.
class Allocations {
 public:
  /// How many there were.
  std::size_t count() const noexcept { return count_; }
  /// How many blocks are allocated now.
  std::ptrdiff_t live() const noexcept { return live_; }

  /// Bytes in blocks of 32 KiB and more.
  std::size_t large_bytes() const noexcept { return large_bytes_; }
  std::size_t peak_large_bytes() const noexcept { return peak_; }
  void reset_peak() noexcept { peak_ = large_bytes_.load(); }

  /// From now on, lets n allocations succeed and then one fail, or all that follow.
  void fail_one_after(std::int64_t n) noexcept { fail_after(n, false); }
  void fail_all_after(std::int64_t n) noexcept { fail_after(n, true); }
  void fail_no_more() noexcept { left_ = never; }
  /// How many failed.
  std::uint64_t failures() const noexcept { return failures_; }

  void* allocate(std::size_t size, std::size_t alignment) {
    ++count_;
    if (left_ != never) {
      const std::int64_t left = left_--;
      if (left == 0 || (left < 0 && fails_all_)) {
        ++failures_;
        throw std::bad_alloc();
      }
    }
    void* p = nullptr;
    if (posix_memalign(&p, alignment, size) != 0) throw std::bad_alloc();
    ++live_;
    add(malloc_usable_size(p));
    return p;
  }
  void* allocate_or_null(std::size_t size, std::size_t alignment) noexcept {
    try {
      return allocate(size, alignment);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  [[gnu::noinline]] void release(void* p) noexcept {
    if (p == nullptr) return;
    --live_;
    if (const std::size_t size = malloc_usable_size(p); size >= large) large_bytes_ -= size;
    std::free(p);
  }

 private:
  static constexpr std::size_t large = 32 * 1024;
  static constexpr std::int64_t never = std::int64_t{1} << 62;

  void fail_after(std::int64_t n, bool all) noexcept {
    fails_all_ = all;
    left_ = n;
  }
  void add(std::size_t size) noexcept {
    if (size < large) return;
    const std::size_t now = large_bytes_ += size;
    std::size_t peak = peak_;
    while (peak < now && !peak_.compare_exchange_weak(peak, now)) {
    }
  }

  std::atomic<std::size_t> count_{0}, large_bytes_{0}, peak_{0};
  std::atomic<std::ptrdiff_t> live_{0};
  std::atomic<std::uint64_t> failures_{0};
  std::atomic<std::int64_t> left_{never};
  std::atomic<bool> fails_all_{false};
};

inline constinit Allocations allocations;

}  // namespace loadax_test

void* operator new(std::size_t size) {
  return loadax_test::allocations.allocate(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size) {
  return loadax_test::allocations.allocate(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t a) {
  return loadax_test::allocations.allocate(size, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t size, std::align_val_t a) {
  return loadax_test::allocations.allocate(size, static_cast<std::size_t>(a));
}
// Those without exceptions too: a sanitizer would take them for its own, and the deletes for ours.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return loadax_test::allocations.allocate_or_null(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return loadax_test::allocations.allocate_or_null(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return loadax_test::allocations.allocate_or_null(size, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return loadax_test::allocations.allocate_or_null(size, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { loadax_test::allocations.release(p); }
void operator delete[](void* p) noexcept { loadax_test::allocations.release(p); }
void operator delete(void* p, std::size_t) noexcept { loadax_test::allocations.release(p); }
void operator delete[](void* p, std::size_t) noexcept { loadax_test::allocations.release(p); }
void operator delete(void* p, std::align_val_t) noexcept { loadax_test::allocations.release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { loadax_test::allocations.release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  loadax_test::allocations.release(p);
}
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  loadax_test::allocations.release(p);
}
