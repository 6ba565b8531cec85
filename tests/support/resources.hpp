// What a process holds: threads, file descriptors, memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <unistd.h>

namespace loadax_test {

#if defined(__has_feature)
#define LOADAX_TEST_HAS_FEATURE(x) __has_feature(x)
#else
#define LOADAX_TEST_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    LOADAX_TEST_HAS_FEATURE(address_sanitizer) || LOADAX_TEST_HAS_FEATURE(thread_sanitizer)
inline constexpr bool keeps_freed_memory = true;
#else
inline constexpr bool keeps_freed_memory = false;
#endif
#undef LOADAX_TEST_HAS_FEATURE

/// Compares what this process holds with what it held at the start.
class Resources {
 public:
  Resources() {
    // A sanitizer starts a thread of its own with a program's first.
    std::thread([] {}).join();
    threads_ = entries("/proc/self/task");
    files_ = entries("/proc/self/fd");
    resident_ = resident_bytes();
  }

  /// Whether there are as many threads and file descriptors. A joined thread is still listed for a
  /// moment, and a detached one needs one to end, so this looks more than once.
  bool unchanged() const {
    for (int i = 0; i < 5000; ++i) {
      if (entries("/proc/self/task") == threads_ && entries("/proc/self/fd") == files_) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  /// Bytes of resident memory that came since the start. 0 under a sanitizer: it keeps freed memory
  /// for a while, and looks for leaks itself.
  std::ptrdiff_t resident_growth() const {
    return keeps_freed_memory ? 0 : resident_bytes() - resident_;
  }

 private:
  static std::ptrdiff_t entries(const char* folder) {
    const std::filesystem::directory_iterator all(folder);
    return std::distance(begin(all), end(all));
  }
  static std::ptrdiff_t resident_bytes() {
    std::ptrdiff_t total = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident * sysconf(_SC_PAGESIZE);
  }

  std::ptrdiff_t threads_ = 0, files_ = 0, resident_ = 0;
};

}  // namespace loadax_test
