// The loader engine's threads, and what they hang at where one does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/core/thread_context.hpp>
#include <loadax/data/load_failure.hpp>
#include <loadax/data/worker_activity.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

/// Threads that work on a state which each of them co-owns; joined at the end.
template <class State>
class EngineWorkers {
 public:
  explicit EngineWorkers(std::shared_ptr<State> state) : state_(std::move(state)) {}
  EngineWorkers(const EngineWorkers&) = delete;
  EngineWorkers& operator=(const EngineWorkers&) = delete;
  ~EngineWorkers() {
    state_->stop();
    for (auto& thread : threads_) thread.join();
  }

  /// @throws EngineError where a thread cannot be started
  void start(std::size_t count) {
    if (count == 0) return;
    const auto context = std::make_shared<const ThreadContext>(ThreadContext::capture());
    threads_.reserve(count);
    try {
      while (threads_.size() < count)
        threads_.emplace_back(
            [state = state_, context, worker = threads_.size()] { state->work(worker, *context); });
    } catch (const std::system_error& error) {
      throw EngineError(
          "threads", error.code().value(),
          fmt::format("{} of {} loader threads started: {}", threads_.size(), count, error.what()),
          "raise the limit of threads, or lower num_workers");
    }
  }

  /// Lets them end by themselves, when the user's running calls return.
  void detach() noexcept {
    state_->stop();
    for (auto& thread : threads_) thread.detach();
    threads_.clear();
  }

 private:
  std::shared_ptr<State> state_;
  std::vector<std::thread> threads_;
};

/// Calls f(activity) for each worker that is busy with a batch.
template <class F>
void for_each_at(std::span<const WorkerActivity> workers, std::uint64_t batch, F&& f) {
  for (const WorkerActivity& worker : workers)
    if (worker.mode() == WorkerActivity::Mode::busy && worker.batch() == batch) f(worker);
}

/// At what a batch hangs that takes too long: the lowest sample that a worker is at.
inline LoadFailure failure_of_hung(std::span<const WorkerActivity> workers, std::uint64_t batch) {
  LoadFailure failure{batch, no_sample, LoadStage::deliver, nullptr};
  for_each_at(workers, batch, [&](const WorkerActivity& worker) {
    if (failure.stage != LoadStage::deliver && failure.sample <= worker.sample()) return;
    failure.stage = worker.stage();
    failure.sample = worker.sample();
  });
  return failure;
}

/// "sample 3 in stage source, sample 8 in stage transform"
inline std::string describe_hung(std::span<const WorkerActivity> workers, std::uint64_t batch) {
  std::string text;
  for_each_at(workers, batch, [&](const WorkerActivity& worker) {
    const std::uint64_t sample = worker.sample();
    text += fmt::format("{}{} in stage {}", text.empty() ? "" : ", ",
                        sample == no_sample ? "no sample yet" : fmt::format("sample {}", sample),
                        name(worker.stage()));
  });
  return text.empty() ? "no worker is at it" : text;
}

}  // namespace detail
}  // namespace v0
}  // namespace loadax
