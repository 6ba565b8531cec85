// Keeps the loader's warnings off stderr, and counts threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <loadax/core/log.hpp>

namespace loadax_test {

/// Collects what is logged.
class QuietLog {
 public:
  QuietLog() {
    loadax::set_log_sink(
        [this](loadax::LogLevel, std::string_view text) { lines.emplace_back(text); });
  }
  ~QuietLog() { loadax::set_log_sink({}); }
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;

  std::vector<std::string> lines;
};

/// Compares the number of this process's threads with the one at the start.
class CountThreads {
 public:
  /// A joined thread is still listed for a moment, so this looks more than once.
  bool unchanged() const {
    for (int i = 0; i < 1000; ++i) {
      if (count() == start_) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

 private:
  static std::size_t count() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
  }
  std::size_t start_ = count();
};

}  // namespace loadax_test
