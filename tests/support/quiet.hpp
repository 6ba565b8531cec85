// Keeps the library's warnings off stderr.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <loadax/core/log.hpp>

namespace loadax_test {

/// Collects what is logged, from any thread.
class QuietLog {
 public:
  QuietLog() {
    loadax::set_log_sink([this](loadax::LogLevel, std::string_view text) {
      const std::scoped_lock lock(mutex_);
      lines.emplace_back(text);
    });
  }
  ~QuietLog() { loadax::set_log_sink({}); }
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;

  /// Read where no other thread logs.
  std::vector<std::string> lines;

 private:
  std::mutex mutex_;
};

}  // namespace loadax_test
