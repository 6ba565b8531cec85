// Processes played by threads of one process, and the job of one process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/comm/communicator.hpp>
#include <loadax/comm/reduce.hpp>
#include <loadax/core/checked.hpp>
#include <loadax/core/error.hpp>
#include <loadax/core/meeting.hpp>
#include <loadax/core/shape.hpp>

namespace loadax {
inline namespace v0 {

namespace detail {

/// Why a process gives up that did nothing wrong itself.
class PeerFailed : public StateError {
  using StateError::StateError;
};

}  // namespace detail

/// The communicator between threads that each play a process; a job of one process where it is
/// made without others. Reductions run in rank order, so they are reproducible bit by bit.
class InProcessCommunicator {
 public:
  /// A job of one process.
  InProcessCommunicator() : InProcessCommunicator(std::make_shared<Group>(1), 0) {}

  /// To move is to copy: each is a handle to its group.
  InProcessCommunicator(const InProcessCommunicator&) = default;
  InProcessCommunicator& operator=(const InProcessCommunicator&) = default;

  /// The communicators of a job of `size` processes, by rank. @throws ArgumentError for size < 1
  static std::vector<InProcessCommunicator> job(int size) {
    if (size < 1)
      throw ArgumentError(fmt::format("InProcessCommunicator: a job of {} processes", size),
                          "a job has at least one process");
    auto group = std::make_shared<Group>(size);
    std::vector<InProcessCommunicator> members;
    for (int rank = 0; rank < size; ++rank) members.push_back(InProcessCommunicator(group, rank));
    return members;
  }

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return static_cast<int>(group_->posts.size()); }

  void barrier() {
    meet({}, [] {});
  }

  void broadcast(std::span<std::byte> bytes, int root) {
    if (root < 0 || root >= size())
      throw ArgumentError(fmt::format("broadcast: root {} of {} processes", root, size()),
                          "ranks run from 0 to size - 1");
    meet({.data = bytes.data(), .size = bytes.size()}, [&] {
      expect("broadcast", root, bytes.size());
      copy(bytes.data(), post(root).data, rank_ == root ? 0 : bytes.size());
    });
  }

  void all_gather(std::span<const std::byte> from, std::span<std::byte> to) {
    meet({.data = from.data(), .size = from.size()}, [&] {
      require("all_gather", to.size(), from.size());
      for (int r = 0; r < size(); ++r) {
        expect("all_gather", r, from.size());
        copy(to.data() + at(r, from.size()), post(r).data, from.size());
      }
    });
  }

  void all_to_all(std::span<const std::byte> from, std::span<std::byte> to) {
    const std::size_t block = from.size() / post_count();
    meet({.data = from.data(), .size = from.size()}, [&] {
      if (from.size() != block * post_count())
        throw ArgumentError(
            fmt::format("all_to_all: {} bytes are not {} equal blocks", from.size(), post_count()),
            "give one block for each rank");
      require("all_to_all", to.size(), block);
      for (int r = 0; r < size(); ++r) {
        expect("all_to_all", r, from.size());
        copy(to.data() + at(r, block), bytes_of(r) + at(rank_, block), block);
      }
    });
  }

  void all_reduce(void* data, std::size_t count, ElementType type, ReduceOp op) {
    // Everyone combines into memory of its own: nobody's contribution changes while others read.
    std::vector<std::byte> result(bytes_for(count, type));
    reduce("all_reduce", data, result.data(), 0, count, count, type, op);
    copy(data, result.data(), result.size());
  }

  void reduce_scatter(const void* from, void* to, std::size_t count, ElementType type,
                      ReduceOp op) {
    const auto all = checked_multiply(count, post_count());
    if (!all)
      throw ArgumentError(fmt::format("reduce_scatter: {} blocks of {} elements are more than 2^64",
                                      post_count(), count),
                          "check the count for an overflow");
    reduce("reduce_scatter", from, to, at(rank_, count), count, *all, type, op);
  }

  void exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) {
    for (const auto& message : outgoing) check_peer(message.peer);
    for (const auto& message : incoming) check_peer(message.peer);
    meet({.data = nullptr, .size = 0, .outgoing = outgoing}, [&] {
      std::vector<std::size_t> next(post_count(), 0);
      for (const auto& message : incoming)
        receive(message, next[static_cast<std::size_t>(message.peer)]);
      for (int r = 0; r < size(); ++r) check_all_received(r, next[static_cast<std::size_t>(r)]);
    });
  }

  /// @throws ArgumentError where the ranks are not distinct ranks of this group, this one among
  /// them
  InProcessCommunicator subgroup(std::span<const int> ranks) {
    int me = -1;
    std::vector<int> key(ranks.begin(), ranks.end());
    for (std::size_t i = 0; i < key.size(); ++i) {
      check_peer(key[i]);
      for (std::size_t j = 0; j < i; ++j)
        if (key[i] == key[j])
          throw ArgumentError(fmt::format("subgroup: rank {} twice in {}", key[i], bracketed(key)),
                              "name each rank once");
      if (key[i] == rank_) me = static_cast<int>(i);
    }
    if (me < 0)
      throw ArgumentError(fmt::format("subgroup: rank {} is not in {}", rank_, bracketed(key)),
                          "only the ranks of a subgroup make it");
    const std::size_t call = group_->made[static_cast<std::size_t>(rank_)][key]++;
    return InProcessCommunicator(group_->subgroup(key, call), me);
  }

  /// Makes every wait of this group, now and later, fail on all its ranks: what a process does
  /// that cannot go on. Thread-safe.
  void abort() noexcept { group_->abort(); }

  /// Says that this rank makes no more calls: a wait for it fails. Thread-safe.
  void depart() noexcept { group_->depart(static_cast<std::size_t>(rank_)); }

 private:
  struct Post {
    const void* data = nullptr;
    std::size_t size = 0;
    std::span<const Outgoing> outgoing = {};
  };

  struct Group {
    explicit Group(int size)
        : posts(static_cast<std::size_t>(size)),
          made(static_cast<std::size_t>(size)),
          departed(static_cast<std::size_t>(size)),
          meeting(static_cast<std::uint32_t>(size)) {}

    /// A rank whose program has ended comes to no meeting.
    void depart(std::size_t rank) noexcept {
      const std::scoped_lock lock(mutex);
      departed[rank].store(true, std::memory_order_seq_cst);
      if (meeting.barrier().has_waiters()) meeting.barrier().abort();
      for (auto& [key, groups] : subgroups)
        for (std::size_t i = 0; i < key.size(); ++i)
          if (key[i] == static_cast<int>(rank))
            for (auto& group : groups) group->depart(i);
    }

    /// A rank that has departed, or -1.
    int departed_rank() const noexcept {
      for (std::size_t rank = 0; rank < departed.size(); ++rank)
        if (departed[rank].load(std::memory_order_seq_cst)) return static_cast<int>(rank);
      return -1;
    }

    void abort() noexcept {
      meeting.barrier().abort();
      const std::scoped_lock lock(mutex);
      aborted = true;
      for (auto& [key, groups] : subgroups)
        for (auto& group : groups) group->abort();
    }

    /// The n-th call of a rank with the same ranks makes, or joins, their n-th group.
    std::shared_ptr<Group> subgroup(const std::vector<int>& key, std::size_t call) {
      const std::scoped_lock lock(mutex);
      auto& groups = subgroups[key];
      while (groups.size() <= call) {
        groups.push_back(std::make_shared<Group>(static_cast<int>(key.size())));
        if (aborted) groups.back()->abort();
        for (std::size_t i = 0; i < key.size(); ++i)
          if (departed[static_cast<std::size_t>(key[i])]) groups.back()->depart(i);
      }
      return groups[call];
    }

    std::vector<Post> posts;
    /// For each rank, how many subgroups of the same ranks it has made: its own thread's.
    std::vector<std::map<std::vector<int>, std::size_t>> made;
    std::vector<std::atomic<bool>> departed;
    Meeting meeting;
    std::mutex mutex;
    bool aborted = false;
    std::map<std::vector<int>, std::vector<std::shared_ptr<Group>>> subgroups;
  };

  InProcessCommunicator(std::shared_ptr<Group> group, int rank)
      : group_(std::move(group)), rank_(rank) {}

  const Post& post(int rank) const { return group_->posts[static_cast<std::size_t>(rank)]; }
  const std::byte* bytes_of(int rank) const {
    return static_cast<const std::byte*>(post(rank).data);
  }
  std::size_t post_count() const noexcept { return group_->posts.size(); }
  static std::size_t at(int rank, std::size_t size) {
    return static_cast<std::size_t>(rank) * size;
  }

  [[noreturn]] void throw_departed() const {
    throw StateError(fmt::format("rank {} waits for rank {}, whose program has ended", rank_,
                                 group_->departed_rank()),
                     "all processes make the same collective calls");
  }

  /// Shows `mine` to all, runs `read` while all posts stand, and returns when all have read.
  template <class Read>
  void meet(const Post& mine, Read&& read) {
    group_->posts[static_cast<std::size_t>(rank_)] = mine;
    const auto wait = [&] {
      group_->meeting.barrier().arrive_and_wait(
          [&](const auto& incomplete) {
            if (group_->departed_rank() >= 0 && incomplete()) throw_departed();
          },
          [](std::uint32_t) {});
    };
    try {
      group_->meeting.meet(wait, std::forward<Read>(read), [&] { group_->abort(); });
    } catch (const BarrierAborted&) {
      if (group_->departed_rank() >= 0) throw_departed();
      throw detail::PeerFailed(fmt::format("rank {}: another process of the job failed", rank_),
                               "its own exception says why");
    }
  }

  void reduce(const char* what, const void* from, void* to, std::size_t first, std::size_t count,
              std::size_t all, ElementType type, ReduceOp op) {
    const std::size_t offset = first * element_size(type);
    const std::size_t whole = bytes_for(all, type);
    check_reduction(type, op);
    meet({.data = from, .size = whole}, [&] {
      for (int r = 0; r < size(); ++r) expect(what, r, whole);
      const auto contribution = [&](std::size_t r) -> const void* {
        return bytes_of(static_cast<int>(r)) + offset;
      };
      reduce_in_order(type, op, post_count(), contribution, to, count);
    });
  }

  void receive(const Incoming& message, std::size_t& next) const {
    const auto& sent = post(message.peer).outgoing;
    while (next < sent.size() && sent[next].peer != rank_) ++next;
    if (next == sent.size())
      throw ArgumentError(fmt::format("exchange: rank {} expects a message from rank {} that it "
                                      "does not send",
                                      rank_, message.peer),
                          "outgoing and incoming messages must agree on all ranks");
    const auto& bytes = sent[next++].bytes;
    if (bytes.size() != message.bytes.size())
      throw ArgumentError(fmt::format("exchange: rank {} expects {} bytes from rank {}, which "
                                      "sends {}",
                                      rank_, message.bytes.size(), message.peer, bytes.size()),
                          "outgoing and incoming messages must agree on all ranks");
    copy(message.bytes.data(), bytes.data(), bytes.size());
  }

  void check_all_received(int peer, std::size_t next) const {
    for (const auto& sent = post(peer).outgoing; next < sent.size(); ++next)
      if (sent[next].peer == rank_)
        throw ArgumentError(fmt::format("exchange: rank {} sends {} bytes to rank {}, which does "
                                        "not expect them",
                                        peer, sent[next].bytes.size(), rank_),
                            "outgoing and incoming messages must agree on all ranks");
  }

  void check_peer(int peer) const {
    if (peer < 0 || peer >= size())
      throw ArgumentError(fmt::format("rank {} of a group of {} processes", peer, size()),
                          "ranks run from 0 to size - 1");
  }

  void expect(const char* what, int rank, std::size_t bytes) const {
    if (post(rank).size != bytes)
      throw ArgumentError(fmt::format("{}: rank {} gives {} bytes, rank {} gives {}", what, rank_,
                                      bytes, rank, post(rank).size),
                          "all ranks must give the same");
  }

  void require(const char* what, std::size_t to, std::size_t block) const {
    if (to != block * post_count())
      throw ArgumentError(fmt::format("{}: room for {} bytes, where {} blocks of {} are received",
                                      what, to, post_count(), block),
                          "the receiver holds one block for each rank");
  }

  static std::size_t bytes_for(std::size_t count, ElementType type) {
    if (auto bytes = checked_multiply(count, element_size(type))) return *bytes;
    throw ArgumentError(
        fmt::format("{} elements of {} have more than 2^64 bytes", count, name(type)),
        "check the count for an overflow");
  }

  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
  }

  std::shared_ptr<Group> group_;
  int rank_;
};

static_assert(Communicator<InProcessCommunicator>);

/// Runs `program(communicator)` on one thread for each of `size` played processes and returns when
/// all have ended. Where one throws, the others' waits fail, and its exception is rethrown.
template <class Program>
void run_in_process(int size, Program&& program) {
  auto members = InProcessCommunicator::job(size);
  std::vector<std::exception_ptr> causes(members.size()), consequences(members.size());
  {
    std::vector<std::jthread> threads;
    const auto run = [&](std::size_t rank) {
      try {
        program(members[rank]);
        members[rank].depart();
        return;
      } catch (const detail::PeerFailed&) {
        consequences[rank] = std::current_exception();
      } catch (...) {
        causes[rank] = std::current_exception();
      }
      members[rank].abort();
    };
    try {
      for (std::size_t rank = 0; rank < members.size(); ++rank) threads.emplace_back(run, rank);
    } catch (const std::system_error& error) {
      members[0].abort();
      throw EngineError(
          "threads", error.code().value(),
          fmt::format("{} of {} processes started: {}", threads.size(), size, error.what()),
          "raise the limit of threads, or play fewer processes");
    }
  }
  for (const auto* failures : {&causes, &consequences})
    for (const auto& failure : *failures)
      if (failure) std::rethrow_exception(failure);
}

}  // namespace v0
}  // namespace loadax
