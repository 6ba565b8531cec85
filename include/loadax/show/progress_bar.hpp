// A line on the terminal that tells how far a pass over a dataset is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <unistd.h>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/data/progress.hpp>

namespace loadax {
inline namespace v0 {

/// "epoch   3  #####.....": the epoch counted from 1, and a bar of `width` columns for its batches.
/// O(width)
inline std::string progress_line(const Progress& progress, std::size_t width = 50) {
  const double part =
      progress.batches_total == 0
          ? 0.0
          : static_cast<double>(std::min(progress.batches_processed, progress.batches_total)) /
                static_cast<double>(progress.batches_total);
  const auto filled = static_cast<std::size_t>(static_cast<double>(width) * part);
  return fmt::format("epoch {:3}  {}{}", progress.epoch + 1, std::string(filled, '#'),
                     std::string(width - filled, '.'));
}

/// One line that is redrawn on a terminal. To a stream that is none, nothing is written.
class ProgressBar {
 public:
  /// @pre the stream stays open while the bar is used
  /// @throws ArgumentError for no stream
  explicit ProgressBar(std::FILE* stream = stdout) {
    if (!stream)
      throw ArgumentError("ProgressBar: no stream", "a file that could not be opened is none");
    if (isatty(fileno(stream)) == 1) stream_ = stream;
  }

  /// O(1), but waits until the stream is flushed.
  void draw(const Progress& progress) const { write("\r" + progress_line(progress)); }
  /// Makes place for other output.
  void clear() const { write("\r\x1b[K"); }

 private:
  void write(const std::string& text) const {
    if (!stream_) return;
    std::fputs(text.c_str(), stream_);
    std::fflush(stream_);
  }

  std::FILE* stream_ = nullptr;
};

}  // namespace v0
}  // namespace loadax
