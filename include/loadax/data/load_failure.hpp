// A batch or sample that could not be loaded: which, where, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace loadax {
inline namespace v0 {

/// What a loader was doing for a batch. Those from source to collate are about one sample.
enum class LoadStage : std::uint8_t {
  open,       ///< making the epoch's view of the dataset, or starting in a thread
  source,     ///< reading a sample
  transform,  ///< calling a map's function
  collate,    ///< writing a sample into its row
  place,      ///< making a batch's memory, or finishing the whole batch
  deliver     ///< handing the batch to the program
};

constexpr std::string_view name(LoadStage stage) noexcept {
  constexpr std::string_view names[] = {"open",    "source", "transform",
                                        "collate", "place",  "deliver"};
  return names[static_cast<std::size_t>(stage)];
}

/// Where a row has no sample, or a failure belongs to none.
inline constexpr std::uint64_t no_sample = std::numeric_limits<std::uint64_t>::max();

/// Why a batch was not delivered. Where several of its samples fail, the first is told.
struct LoadFailure {
  std::uint64_t batch = 0;
  /// The position in the loader's dataset as it stands in that epoch, or no_sample.
  std::uint64_t sample = no_sample;
  LoadStage stage = LoadStage::source;
  std::exception_ptr error;
};

namespace detail {

/// "stage source, sample 7: its text"
inline std::string where_and_why(const LoadFailure& failure) {
  std::string what = "an exception of no standard type";
  try {
    std::rethrow_exception(failure.error);
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  const std::string sample =
      failure.sample == no_sample ? std::string() : fmt::format(", sample {}", failure.sample);
  return fmt::format("stage {}{}: {}", name(failure.stage), sample, what);
}

}  // namespace detail
}  // namespace v0
}  // namespace loadax
