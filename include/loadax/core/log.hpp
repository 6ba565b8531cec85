// Where the library says what it did: a sink that the program may replace.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace loadax {
inline namespace v0 {

enum class LogLevel { debug, info, warning };

/// Called with one message, without a line end. It may be called from any thread, several at once.
using LogSink = std::function<void(LogLevel, std::string_view)>;

namespace detail {

inline void log_to_stderr(LogLevel level, std::string_view text) {
  if (level != LogLevel::warning) return;
  const std::string line = "loadax: warning: " + std::string(text) + "\n";
  std::fputs(line.c_str(), stderr);
}

struct LogState {
  std::mutex mutex;
  std::shared_ptr<const LogSink> sink = std::make_shared<const LogSink>(log_to_stderr);
};

/// Never destroyed: threads may log while the program ends.
inline LogState& log_state() {
  static auto* state = new LogState;
  return *state;
}

}  // namespace detail

/// Replaces the sink; an empty one restores the default, which is silent but for warnings on
/// stderr. Returns the sink that was there. Thread-safe.
inline LogSink set_log_sink(LogSink sink) {
  auto next = std::make_shared<const LogSink>(sink ? std::move(sink) : detail::log_to_stderr);
  auto& state = detail::log_state();
  const std::scoped_lock lock(state.mutex);
  return *std::exchange(state.sink, std::move(next));
}

/// Hands a message to the sink. An exception of the sink reaches the caller. Thread-safe.
inline void log(LogLevel level, std::string_view text) {
  auto& state = detail::log_state();
  std::shared_ptr<const LogSink> sink;
  {
    const std::scoped_lock lock(state.mutex);
    sink = state.sink;
  }
  (*sink)(level, text);
}

}  // namespace v0
}  // namespace loadax
