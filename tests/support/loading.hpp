// Datasets, loops and threads that tests of the loaders use.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include <loadax/data/simple_dataset.hpp>

namespace loadax_test {

constexpr std::size_t worker_counts[] = {0, 1, 2, 7};

/// Samples 0, ..., n - 1.
template <class T = int>
loadax::SimpleDataset<T> numbers(std::size_t n) {
  std::vector<T> values(n);
  std::iota(values.begin(), values.end(), T{});
  return loadax::SimpleDataset{std::move(values)};
}

/// The first field of the batches of one pass, as vectors.
std::vector<std::vector<int>> batches_of(const auto& pass) {
  std::vector<std::vector<int>> batches;
  for (const auto& batch : pass) {
    const auto values = get<0>(batch).values();
    batches.emplace_back(values.begin(), values.end());
  }
  return batches;
}

/// An error type of the user's own.
struct Mine : std::exception {
  int sample;
  explicit Mine(int s) : sample(s) {}
  const char* what() const noexcept override { return "mine"; }
};

/// Waits until `count` threads are in wait() at once; false where that takes longer than allowed.
class Meeting {
 public:
  Meeting(int count, std::chrono::milliseconds allowed) : count_(count), allowed_(allowed) {}
  bool wait() {
    std::unique_lock lock(mutex_);
    const int round = round_;
    if (++here_ == count_) {
      here_ = 0;
      ++round_;
      all_here_.notify_all();
      return true;
    }
    if (all_here_.wait_for(lock, allowed_, [&] { return round_ != round; })) return true;
    --here_;
    return false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  int count_, here_ = 0, round_ = 0;
  std::chrono::milliseconds allowed_;
};

/// A call that blocks until it is let go. Co-owned by those who may be in it.
class Gate {
 public:
  void pass() const {
    ++waiting;
    open_.wait(false);
  }
  void open() {
    open_ = true;
    open_.notify_all();
  }
  mutable std::atomic<int> waiting{0};  ///< how many came

 private:
  std::atomic<bool> open_{false};
};

}  // namespace loadax_test
