// The trial of the Communicator concept against real processes: just enough of MPI to model it.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mpi.h>

#include <loadax/comm/communicator.hpp>
#include <loadax/comm/reduce.hpp>
#include <loadax/core/element_type.hpp>
#include <loadax/core/error.hpp>

namespace loadax_test {

/// MPI from first use to the end of the program.
class MpiProcess {
 public:
  static void start() { static const MpiProcess process; }
  MpiProcess(const MpiProcess&) = delete;
  MpiProcess& operator=(const MpiProcess&) = delete;

 private:
  MpiProcess() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    if (provided < MPI_THREAD_SERIALIZED)
      throw loadax::NotSupportedError("this MPI runs with one thread only");
  }
  ~MpiProcess() { MPI_Finalize(); }
};

/// Combines in rank order, so that sums have the bits of the in-process model.
class MpiCommunicator {
 public:
  static MpiCommunicator world() {
    MpiProcess::start();
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
    return MpiCommunicator(comm);
  }
  MpiCommunicator(MpiCommunicator&& other) noexcept
      : comm_(std::exchange(other.comm_, MPI_COMM_NULL)), rank_(other.rank_), size_(other.size_) {}
  MpiCommunicator& operator=(MpiCommunicator&&) = delete;
  ~MpiCommunicator() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (comm_ != MPI_COMM_NULL && finalized == 0) MPI_Comm_free(&comm_);
  }

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  void barrier() { check(MPI_Barrier(comm_), "MPI_Barrier"); }
  void broadcast(std::span<std::byte> bytes, int root) {
    check(MPI_Bcast(bytes.data(), count(bytes), MPI_BYTE, root, comm_), "MPI_Bcast");
  }
  void all_gather(std::span<const std::byte> from, std::span<std::byte> to) {
    check(
        MPI_Allgather(from.data(), count(from), MPI_BYTE, to.data(), count(from), MPI_BYTE, comm_),
        "MPI_Allgather");
  }
  void all_to_all(std::span<const std::byte> from, std::span<std::byte> to) {
    const int block = count(from) / size_;
    check(MPI_Alltoall(from.data(), block, MPI_BYTE, to.data(), block, MPI_BYTE, comm_),
          "MPI_Alltoall");
  }
  void all_reduce(void* data, std::size_t elements, loadax::ElementType type, loadax::ReduceOp op) {
    const std::size_t bytes = elements * loadax::element_size(type);
    std::vector<std::byte> all(bytes * static_cast<std::size_t>(size_));
    all_gather({static_cast<const std::byte*>(data), bytes}, all);
    combine_blocks(all, data, elements, type, op);
  }
  void reduce_scatter(const void* from, void* to, std::size_t elements, loadax::ElementType type,
                      loadax::ReduceOp op) {
    const std::size_t bytes =
        elements * loadax::element_size(type) * static_cast<std::size_t>(size_);
    std::vector<std::byte> blocks(bytes);
    all_to_all({static_cast<const std::byte*>(from), bytes}, blocks);
    combine_blocks(blocks, to, elements, type, op);
  }
  void exchange(std::span<const loadax::Outgoing> outgoing,
                std::span<const loadax::Incoming> incoming) {
    std::vector<MPI_Request> requests;
    for (const auto& [peer, bytes] : incoming)
      check(
          MPI_Irecv(bytes.data(), count(bytes), MPI_BYTE, peer, 0, comm_, &requests.emplace_back()),
          "MPI_Irecv");
    for (const auto& [peer, bytes] : outgoing)
      check(
          MPI_Isend(bytes.data(), count(bytes), MPI_BYTE, peer, 0, comm_, &requests.emplace_back()),
          "MPI_Isend");
    check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall");
  }
  MpiCommunicator subgroup(std::span<const int> ranks) {
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_group(comm_, &all), "MPI_Comm_group");
    check(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some),
          "MPI_Group_incl");
    check(MPI_Comm_create_group(comm_, some, 0, &comm), "MPI_Comm_create_group");
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return MpiCommunicator(comm);
  }

 private:
  explicit MpiCommunicator(MPI_Comm comm) : comm_(comm) {
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  }

  static void check(int code, std::string_view call) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw loadax::EngineError("MPI", code,
                              std::string(call) + ": " + std::string(text, text + length));
  }
  template <class Bytes>
  static int count(const Bytes& bytes) {
    return static_cast<int>(bytes.size());  // the tests' messages are small
  }
  void combine_blocks(const std::vector<std::byte>& blocks, void* into, std::size_t elements,
                      loadax::ElementType type, loadax::ReduceOp op) const {
    const std::size_t bytes = elements * loadax::element_size(type);
    const auto block = [&](std::size_t r) -> const void* { return blocks.data() + r * bytes; };
    loadax::reduce_in_order(type, op, static_cast<std::size_t>(size_), block, into, elements);
  }

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 0;
};

static_assert(loadax::Communicator<MpiCommunicator>);

}  // namespace loadax_test
