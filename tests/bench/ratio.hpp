// Times against a peer in the same run: what a ratio says holds on any machine.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include <fmt/core.h>

namespace loadax_bench {

/// Seconds that `run(count)` takes, where `run` is what `prepare()` returns: what it holds is made
/// and used once before the clock starts, and destroyed after the clock has stopped.
template <class Prepare>
double seconds(std::size_t count, Prepare& prepare) {
  auto&& run = prepare();
  run(1);
  const auto start = std::chrono::steady_clock::now();
  run(count);
  const auto stop = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(stop - start).count();
}

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

struct Ratio {
  const char* name;
  const char* peer_name;
  /// None: the ratio is only printed.
  std::optional<double> limit = {};
};

/// Runs what `ours()` and `peer()` return in turns, each to do the same thing `count` times; prints
/// the median times of one and the median ratio. Returns main()'s exit code: 1 above the limit.
template <class Ours, class Peer>
int compare(const Ratio& ratio, std::size_t rounds, std::size_t count, Ours ours, Peer peer) {
  seconds(count, ours);
  seconds(count, peer);
  std::vector<double> our_times, peer_times, ratios;
  for (std::size_t round = 0; round < rounds; ++round) {
    peer_times.push_back(seconds(count, peer));
    our_times.push_back(seconds(count, ours));
    ratios.push_back(our_times.back() / peer_times.back());
  }
  const double per_call = 1e6 / static_cast<double>(count);
  const double result = median(ratios);
  fmt::print("{}: {:.2f} us, {}: {:.2f} us, ratio {:.2f}{}\n", ratio.name,
             median(our_times) * per_call, ratio.peer_name, median(peer_times) * per_call, result,
             ratio.limit ? fmt::format(" (at most {:.2f})", *ratio.limit) : "");
  return ratio.limit && result > *ratio.limit ? 1 : 0;
}

}  // namespace loadax_bench
