// How a loader loads: what the loaders' options mean to the engine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>
#include <string_view>

#include <fmt/core.h>

#include <loadax/core/checked.hpp>
#include <loadax/core/error.hpp>
#include <loadax/data/error_policy.hpp>

namespace loadax {
inline namespace v0 {

/// So many that no stream comes to the end: years at a million batches a second.
inline constexpr std::uint64_t unbounded_batches = std::uint64_t{1} << 48;

struct EngineOptions {
  /// Threads; with 0, the consumer's thread loads each batch when it is asked for.
  std::size_t num_workers = 0;
  /// Batches in memory, at least 1: the one in the consumer's hands and those loaded ahead.
  std::size_t depth = 1;
  OnError on_error = OnError::raise();
  /// How long the consumer waits for a batch; only with workers.
  std::optional<std::chrono::nanoseconds> timeout = std::nullopt;
  std::stop_token stop_token = {};
  /// Of all batches in memory.
  std::optional<std::size_t> max_prefetch_bytes = std::nullopt;
};

namespace detail {

/// Those of a loader, whose name stands in messages.
/// @throws ArgumentError where they cannot be
template <class Options>
EngineOptions engine_options(std::string_view loader, const Options& options) {
  if (options.prefetch_factor == 0)
    throw ArgumentError(fmt::format("{}: prefetch_factor is 0", loader),
                        "give the number of batches loaded ahead for each worker, at least 1; "
                        "num_workers = 0 loads nothing ahead");
  if (options.timeout && options.timeout->count() <= 0)
    throw ArgumentError(fmt::format("{}: timeout is {} ns", loader, options.timeout->count()),
                        "give the time that a batch may take, or leave it out: no limit");
  if (options.timeout && options.num_workers == 0)
    throw ArgumentError(fmt::format("{}: a timeout with num_workers = 0", loader),
                        "only what a worker does can be timed out: give num_workers at least 1");
  constexpr auto most = std::numeric_limits<std::size_t>::max();
  const auto ahead = checked_multiply(options.num_workers, options.prefetch_factor).value_or(most);
  return {.num_workers = options.num_workers,
          .depth = checked_add(ahead, std::size_t{1}).value_or(most),
          .on_error = options.on_error,
          .timeout = options.timeout,
          .stop_token = options.stop_token,
          .max_prefetch_bytes = options.max_prefetch_bytes};
}

}  // namespace detail
}  // namespace v0
}  // namespace loadax
