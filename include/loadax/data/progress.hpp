// How far a pass over a dataset is.
#pragma once

#include <cstdint>

namespace loadax {
inline namespace v0 {

/// Counts what was delivered, not what was loaded ahead. A failed batch is not delivered.
struct Progress {
  std::uint64_t epoch = 0;
  std::uint64_t items_processed = 0;  ///< samples
  std::uint64_t items_total = 0;      ///< without those of a dropped last batch
  std::uint64_t batches_processed = 0;
  std::uint64_t batches_total = 0;

  bool operator==(const Progress&) const = default;
};

}  // namespace v0
}  // namespace loadax
