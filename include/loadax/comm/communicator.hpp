// What moves bytes between the processes of a job.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <loadax/core/element_type.hpp>

namespace loadax {
inline namespace v0 {

/// How contributions are combined. Sums and products need numbers; the order of bool is false,
/// true; complex numbers have none.
enum class ReduceOp : std::uint8_t { sum, product, min, max };

/// A message to another process, or to oneself.
struct Outgoing {
  int peer;
  std::span<const std::byte> bytes;
};

/// A message from another process, or from oneself.
struct Incoming {
  int peer;
  std::span<std::byte> bytes;
};

/// A group of processes, seen from one of them. Every call but rank() and size() is collective:
/// all processes of the group make the same calls in the same order, with equal sizes, types and
/// operations. Calls return when the caller's buffers may be used again. One thread at a time.
///
///  - `barrier()`
///  - `broadcast(bytes, root)`: the root's bytes, everywhere
///  - `all_gather(from, to)`: `to` holds the `from` of each rank, in rank order
///  - `all_to_all(from, to)`: block r of `from` goes to rank r; block r of `to` came from rank r
///  - `all_reduce(data, count, type, op)`: in place, over `count` elements
///  - `reduce_scatter(from, to, count, type, op)`: `from` has size() blocks of `count` elements;
///    `to` gets the combined block rank()
///  - `exchange(outgoing, incoming)`: point-to-point messages, possibly none; the k-th message from
///    a to b goes where b's k-th message from a is expected, and has its size
///  - `subgroup(ranks)`: a communicator over these ranks, in this order; only they call it
///
/// A failure is an exception on the rank that found it, and on the others as soon as they notice.
template <class C>
concept Communicator =
    std::move_constructible<C> &&
    requires(C& comm, const C& view, std::span<const std::byte> from, std::span<std::byte> to,
             void* data, const void* source, std::size_t count, ElementType type, ReduceOp op,
             int root, std::span<const Outgoing> outgoing, std::span<const Incoming> incoming,
             std::span<const int> ranks) {
      { view.rank() } -> std::same_as<int>;
      { view.size() } -> std::same_as<int>;
      comm.barrier();
      comm.broadcast(to, root);
      comm.all_gather(from, to);
      comm.all_to_all(from, to);
      comm.all_reduce(data, count, type, op);
      comm.reduce_scatter(source, data, count, type, op);
      comm.exchange(outgoing, incoming);
      { comm.subgroup(ranks) } -> std::same_as<C>;
    };

}  // namespace v0
}  // namespace loadax
