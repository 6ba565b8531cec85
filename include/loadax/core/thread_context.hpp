// What a thread hands on to the threads that the library starts for it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <loadax/core/error.hpp>

namespace loadax {
inline namespace v0 {

/// Runs in a new thread and puts a state into force there, until what it returns is destroyed.
using AdoptThreadState = std::function<std::shared_ptr<void>()>;

/// Runs in the thread that asks for another one, and remembers its state for it. It returns an
/// empty function where there is nothing to hand on.
using CaptureThreadState = std::function<AdoptThreadState()>;

namespace detail {

struct ThreadStates {
  std::mutex mutex;
  std::vector<CaptureThreadState> captures;
};

/// Never destroyed: threads may be started while the program ends.
inline ThreadStates& thread_states() {
  static auto* states = new ThreadStates;
  return *states;
}

}  // namespace detail

/// From now on, threads that the library starts (loader workers) take over a state
/// that is local to a thread, such as the mesh in scope. Returns true, so that the initialiser of
/// an inline variable may call it. Thread-safe.
/// @throws ArgumentError for an empty function
inline bool inherit_in_threads(CaptureThreadState capture) {
  if (!capture)
    throw ArgumentError("inherit_in_threads: an empty function",
                        "one that has nothing to hand on returns an empty AdoptThreadState");
  auto& states = detail::thread_states();
  const std::scoped_lock lock(states.mutex);
  states.captures.push_back(std::move(capture));
  return true;
}

/// The states of one thread, for threads that work on its behalf.
class ThreadContext {
 public:
  /// In force in the thread that called adopt(), until destroyed there.
  using Scope = std::vector<std::shared_ptr<void>>;

  /// Of the calling thread.
  static ThreadContext capture() {
    ThreadContext context;
    for (const auto& capture : captures()) {
      if (auto adopt = capture()) context.adopt_.push_back(std::move(adopt));
    }
    return context;
  }

  [[nodiscard]] Scope adopt() const {
    Scope scope;
    scope.reserve(adopt_.size());
    for (const auto& adopt : adopt_) scope.push_back(adopt());
    return scope;
  }

 private:
  ThreadContext() = default;

  /// A copy, since what is called may itself register another one.
  static std::vector<CaptureThreadState> captures() {
    auto& states = detail::thread_states();
    const std::scoped_lock lock(states.mutex);
    return states.captures;
  }

  std::vector<AdoptThreadState> adopt_;
};

}  // namespace v0
}  // namespace loadax
