// Who sends to whom in a ppermute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/error.hpp>

namespace loadax {
inline namespace v0 {

/// The pairs of a ppermute: indices of devices along its axes. Refers to them; made where the call
/// is, from a braced list, a vector or a span.
class PermutePairs {
 public:
  struct Pair {
    std::int64_t source, destination;
  };

  PermutePairs(std::initializer_list<Pair> pairs) : pairs_(pairs.begin(), pairs.size()) {}
  PermutePairs(std::span<const Pair> pairs)
      : pairs_(pairs) {}  // NOLINT(google-explicit-constructor)
  PermutePairs(const std::vector<Pair>& pairs)
      : pairs_(pairs) {}  // NOLINT(google-explicit-constructor)

  /// For each of `members` destinations, its source if it has one. O(pairs + members)
  /// @throws ArgumentError for an index that no member has, and for one that is source or
  /// destination twice
  std::vector<std::optional<std::size_t>> sources(std::size_t members) const {
    std::vector<std::optional<std::size_t>> sources(members);
    std::vector<bool> sends(members, false);
    for (const auto& [source, destination] : pairs_) {
      const std::size_t from = checked("source", source, members),
                        to = checked("destination", destination, members);
      if (sends[from]) throw_twice("source", source);
      if (sources[to]) throw_twice("destination", destination);
      sends[from] = true;
      sources[to] = from;
    }
    return sources;
  }

 private:
  static std::size_t checked(const char* role, std::int64_t index, std::size_t members) {
    if (index < 0 || std::cmp_greater_equal(index, members))
      throw ArgumentError(fmt::format("ppermute: {} {} among {} devices", role, index, members),
                          "a device's index along the axes counts from 0");
    return static_cast<std::size_t>(index);
  }
  [[noreturn]] static void throw_twice(const char* role, std::int64_t index) {
    throw ArgumentError(fmt::format("ppermute: {} is {} twice", index, role),
                        "each device sends to at most one other, and receives from at most one");
  }

  std::span<const Pair> pairs_;
};

}  // namespace v0
}  // namespace loadax
