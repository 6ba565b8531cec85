// What every model of Communicator does, checked from inside one of its processes.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include <fmt/core.h>

#include <loadax/comm/communicator.hpp>
#include <loadax/comm/reduce.hpp>
#include <loadax/core/element_type.hpp>

#include "support/require.hpp"

namespace loadax_test {

/// The same bytes on every process: message `id` of `rank`.
inline std::vector<std::byte> message(int rank, std::size_t id, std::size_t size) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank) * 1000003 + id);
  std::vector<std::byte> bytes(size);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

/// Element i of a rank's contribution. Small whole numbers: their sums and products are exact in
/// every type.
template <class T>
T number(int rank, std::size_t i) {
  const auto v = (static_cast<std::size_t>(rank) * 5 + i * 3) % 4;
  if constexpr (std::is_same_v<T, bool>)
    return v % 2 == 1;
  else
    return static_cast<T>(static_cast<float>(v));
}

template <class T>
inline constexpr bool has_order = std::is_convertible_v<T, float>;

/// Element i of all ranks' contributions, combined.
template <class T>
T combined(loadax::ReduceOp op, int size, std::size_t i) {
  T result = number<T>(0, i);
  for (int r = 1; r < size; ++r) {
    const T next = number<T>(r, i);
    if (op == loadax::ReduceOp::sum) result = static_cast<T>(result + next);
    if (op == loadax::ReduceOp::product) result = static_cast<T>(result * next);
    if constexpr (has_order<T>) {
      if (op == loadax::ReduceOp::min) result = std::min(result, next);
      if (op == loadax::ReduceOp::max) result = std::max(result, next);
    }
  }
  return result;
}

inline const std::vector<std::size_t> sizes{0, 1, 3, 64, 1000, 100003};

template <class C>
void check_bytes(C& comm) {
  const int n = comm.size();
  const auto ranks = static_cast<std::size_t>(n);
  for (const std::size_t size : sizes) {
    for (int root = 0; root < n; ++root) {
      auto bytes = message(comm.rank(), 1, size);
      comm.broadcast(bytes, root);
      require(bytes == message(root, 1, size), fmt::format("broadcast of {} bytes", size));
    }
    const auto mine = message(comm.rank(), 2, size);
    std::vector<std::byte> all(size * ranks);
    comm.all_gather(mine, all);
    for (int r = 0; r < n; ++r) {
      const auto theirs = message(r, 2, size);
      require(size == 0 || std::memcmp(all.data() + static_cast<std::size_t>(r) * size,
                                       theirs.data(), size) == 0,
              fmt::format("all_gather of {} bytes, block {}", size, r));
    }
    std::vector<std::byte> out, in(size * ranks);
    for (int r = 0; r < n; ++r) {
      const auto block = message(comm.rank(), 100 + static_cast<std::size_t>(r), size);
      out.insert(out.end(), block.begin(), block.end());
    }
    comm.all_to_all(out, in);
    for (int r = 0; r < n; ++r) {
      const auto block = message(r, 100 + static_cast<std::size_t>(comm.rank()), size);
      require(size == 0 || std::memcmp(in.data() + static_cast<std::size_t>(r) * size, block.data(),
                                       size) == 0,
              fmt::format("all_to_all of {} bytes, block {}", size, r));
    }
  }
  comm.barrier();
}

/// Every process sends `1 + (a + 2 b) % 3` messages of different sizes from a to b, itself too.
template <class C>
void check_exchange(C& comm) {
  const auto count = [](int a, int b) { return static_cast<std::size_t>(1 + (a + 2 * b) % 3); };
  const auto size = [](int a, int b, std::size_t k) {
    return static_cast<std::size_t>(a * 7 + b * 13) * (k + 1) * 11;
  };
  const int me = comm.rank();
  std::vector<std::vector<std::byte>> sent, received;
  std::vector<loadax::Outgoing> outgoing;
  std::vector<loadax::Incoming> incoming;
  for (int peer = 0; peer < comm.size(); ++peer) {
    for (std::size_t k = 0; k < count(me, peer); ++k)
      sent.push_back(message(me * 64 + peer, k, size(me, peer, k)));
    for (std::size_t k = 0; k < count(peer, me); ++k) received.emplace_back(size(peer, me, k));
  }
  std::size_t s = 0, r = 0;
  for (int peer = 0; peer < comm.size(); ++peer) {
    for (std::size_t k = 0; k < count(me, peer); ++k) outgoing.push_back({peer, sent[s++]});
    for (std::size_t k = 0; k < count(peer, me); ++k) incoming.push_back({peer, received[r++]});
  }
  comm.exchange(outgoing, incoming);
  r = 0;
  for (int peer = 0; peer < comm.size(); ++peer)
    for (std::size_t k = 0; k < count(peer, me); ++k)
      require(received[r++] == message(peer * 64 + me, k, size(peer, me, k)),
              fmt::format("exchange: message {} from {} to {}", k, peer, me));
  comm.exchange({}, {});
}

template <class T, class C>
void check_reductions(C& comm) {
  using loadax::ReduceOp;
  constexpr auto type = loadax::element_type_of<T>;
  for (const auto op : {ReduceOp::sum, ReduceOp::product, ReduceOp::min, ReduceOp::max}) {
    const bool order = op == ReduceOp::min || op == ReduceOp::max;
    if (order ? !has_order<T> : std::is_same_v<T, bool>) continue;
    for (const std::size_t count : {0, 1, 7, 1025}) {
      const auto n = static_cast<std::size_t>(comm.size());
      const auto what = fmt::format("{} of {} {}", name(op), count, name(type));
      const std::unique_ptr<T[]> data(new T[count + 1]), blocks(new T[count * n + 1]);
      for (std::size_t i = 0; i < count; ++i) data[i] = number<T>(comm.rank(), i);
      comm.all_reduce(data.get(), count, type, op);
      for (std::size_t i = 0; i < count; ++i)
        require(data[i] == combined<T>(op, comm.size(), i), "all_reduce, " + what);

      for (std::size_t i = 0; i < count * n; ++i) blocks[i] = number<T>(comm.rank(), i);
      comm.reduce_scatter(blocks.get(), data.get(), count, type, op);
      const std::size_t first = static_cast<std::size_t>(comm.rank()) * count;
      for (std::size_t i = 0; i < count; ++i)
        require(data[i] == combined<T>(op, comm.size(), first + i), "reduce_scatter, " + what);
    }
  }
}

/// Numbers of 16 bits are added up in float: the greatest whole number with all smaller ones, and 1
/// for each other rank, which alone would be rounded away.
template <class C>
void check_rounding_once(C& comm) {
  const auto sum = [&]<class T>(T first) {
    T value = comm.rank() == 0 ? first : T(1);
    comm.all_reduce(&value, 1, loadax::element_type_of<T>, loadax::ReduceOp::sum);
    const T wanted(static_cast<float>(first) + static_cast<float>(comm.size() - 1));
    require(value.bits() == wanted.bits(), "a sum of 16-bit numbers is rounded once");
  };
  sum(loadax::float16_t(2048.0f));
  sum(loadax::bfloat16_t(256.0f));
}

/// The whole suite. @collective yes
template <class C>
void check_communicator(C& comm, bool subgroups = true) {
  require(comm.rank() >= 0 && comm.rank() < comm.size(), "rank() is below size()");
  check_bytes(comm);
  check_exchange(comm);
  check_reductions<bool>(comm);
  check_reductions<std::int8_t>(comm);
  check_reductions<std::int16_t>(comm);
  check_reductions<std::int32_t>(comm);
  check_reductions<std::int64_t>(comm);
  check_reductions<std::uint8_t>(comm);
  check_reductions<std::uint16_t>(comm);
  check_reductions<std::uint32_t>(comm);
  check_reductions<std::uint64_t>(comm);
  check_reductions<loadax::float16_t>(comm);
  check_reductions<loadax::bfloat16_t>(comm);
  check_rounding_once(comm);
  check_reductions<float>(comm);
  check_reductions<double>(comm);
  check_reductions<std::complex<float>>(comm);
  check_reductions<std::complex<double>>(comm);
  if (!subgroups) return;
  // Every other rank, backwards; made twice.
  for (int round = 0; round < 2; ++round) {
    std::vector<int> ranks;
    for (int r = comm.size() - 1; r >= 0; --r)
      if (r % 2 == comm.rank() % 2) ranks.push_back(r);
    auto group = comm.subgroup(ranks);
    require(group.size() == static_cast<int>(ranks.size()), "a subgroup has its ranks");
    require(ranks[static_cast<std::size_t>(group.rank())] == comm.rank(),
            "a subgroup's ranks are in the given order");
    check_communicator(group, false);
  }
}

}  // namespace loadax_test
