// A batch that could not be loaded: which, where, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <string_view>
#include <utility>

namespace loadax {
inline namespace v0 {

/// What a loader was doing for a batch.
enum class LoadStage : std::uint8_t {
  open,       ///< making the epoch's view of the dataset, or starting in a thread
  source,     ///< reading a sample
  transform,  ///< calling a map's function
  collate,    ///< writing a sample into its row
  place       ///< handing on the whole batch
};

constexpr std::string_view name(LoadStage stage) noexcept {
  constexpr std::string_view names[] = {"open", "source", "transform", "collate", "place"};
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

/// Set in the thread in which a transform threw, until the loader asks.
inline constinit thread_local bool transform_threw = false;

/// f(), remembering that it was a transform that threw. Costs nothing where it does not throw.
template <class F>
decltype(auto) in_transform(F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (...) {
    transform_threw = true;
    throw;
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace loadax
