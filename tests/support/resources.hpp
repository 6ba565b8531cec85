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

  /// Bytes of resident memory that came since the start.
  std::ptrdiff_t resident_growth() const { return resident_bytes() - resident_; }

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
