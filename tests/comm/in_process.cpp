#include <array>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <loadax/comm/any_communicator.hpp>
#include <loadax/comm/in_process.hpp>

#include "conformance/communicator.hpp"
#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/few_threads.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

TEST_CASE("one to four processes on threads are a communicator", "[comm]") {
  for (int size = 1; size <= 4; ++size)
    lx::run_in_process(size, [&](lx::InProcessCommunicator& comm) {
      loadax_test::require(comm.size() == size, "size()");
      loadax_test::check_communicator(comm);
    });
}

TEST_CASE("a type-erased communicator is one too", "[comm]") {
  static_assert(lx::Communicator<lx::AnyCommunicator>);
  lx::run_in_process(3, [](lx::InProcessCommunicator& comm) {
    lx::AnyCommunicator any(comm);
    loadax_test::check_communicator(any);
  });
}

TEST_CASE("sums run in rank order", "[comm]") {
  // 1e16 + 1 is 1e16 in double: only one order of these gives 2.
  const std::array<double, 4> given{1e16, -1e16, 1.0, 1.0};
  lx::run_in_process(4, [&](lx::InProcessCommunicator& comm) {
    double x = given[static_cast<std::size_t>(comm.rank())];
    comm.all_reduce(&x, 1, lx::ElementType::float64, lx::ReduceOp::sum);
    loadax_test::require(x == 2.0, "the sum in rank order");
  });
}

TEST_CASE("a process that throws wakes the others, and its exception is the job's", "[comm]") {
  CHECK(contains(message_of<std::out_of_range>([] {
                   lx::run_in_process(3, [](lx::InProcessCommunicator& comm) {
                     if (comm.rank() == 1) throw std::out_of_range("rank 1 has had enough");
                     for (;;) comm.barrier();
                   });
                 }),
                 {"rank 1 has had enough"}));
  std::string text;
  try {
    lx::run_in_process(2, [&](lx::InProcessCommunicator& comm) {
      if (comm.rank() == 1) throw std::out_of_range("gone");
      try {
        comm.barrier();
      } catch (const lx::StateError& error) {
        text = error.what();
        throw;
      }
    });
  } catch (const std::exception&) {
  }
  CHECK(contains(text, {"rank 0", "another process of the job failed", "hint:"}));
}

TEST_CASE("a process that ends while others wait for it is an error, not a deadlock", "[comm]") {
  const auto text = message_of<lx::StateError>([] {
    lx::run_in_process(3, [](lx::InProcessCommunicator& comm) {
      if (comm.rank() != 1) comm.barrier();
    });
  });
  CHECK(contains(text, {"waits for rank 1", "program has ended", "hint:"}));
  const std::vector<int> pair{0, 1};
  CHECK(contains(message_of<lx::StateError>([&] {
                   lx::run_in_process(3, [&](lx::InProcessCommunicator& comm) {
                     if (comm.rank() == 0) comm.subgroup(pair).barrier();
                   });
                 }),
                 {"rank 0 waits for rank 1", "program has ended"}));
}

TEST_CASE("a subgroup of a job that has failed fails too", "[comm]") {
  auto members = lx::InProcessCommunicator::job(2);
  members[0].abort();
  const std::vector<int> both{0, 1};
  auto group = members[1].subgroup(both);
  CHECK(contains(message_of<lx::StateError>([&] { group.barrier(); }),
                 {"another process of the job failed"}));
}

namespace {

/// What a job of two in which the ranks call differently ends with.
template <class Program>
std::string failure_of(Program program) {
  return message_of<lx::ArgumentError>([&] { lx::run_in_process(2, program); });
}

}  // namespace

TEST_CASE("calls that do not fit each other are errors with both sides", "[comm]") {
  using Comm = lx::InProcessCommunicator;
  CHECK(contains(failure_of([](Comm& comm) {
                   std::vector<std::byte> bytes(comm.rank() == 0 ? 4 : 8);
                   comm.broadcast(bytes, 0);
                 }),
                 {"broadcast: rank 1 gives 8 bytes, rank 0 gives 4", "hint: all ranks"}));
  CHECK(contains(failure_of([](Comm& comm) {
                   std::vector<std::byte> from(comm.rank() == 0 ? 4 : 8), to(from.size() * 2);
                   comm.all_gather(from, to);
                 }),
                 {"all_gather", "rank 0", "rank 1", " 4", "8", "hint:"}));
  CHECK(contains(failure_of([](Comm& comm) {
                   std::vector<std::byte> from(4), to(7);
                   comm.all_gather(from, to);
                 }),
                 {"all_gather", "7 bytes", "2 blocks of 4"}));
  CHECK(contains(failure_of([](Comm& comm) {
                   std::vector<std::byte> from(6), to(7);
                   comm.all_to_all(from, to);
                 }),
                 {"all_to_all", "7 bytes", "2 blocks of 3"}));
  CHECK(contains(failure_of([](Comm& comm) {
                   std::vector<std::byte> from(7), to(6);
                   comm.all_to_all(from, to);
                 }),
                 {"all_to_all: 7 bytes are not 2 equal blocks", "hint:"}));
  CHECK(contains(failure_of([](Comm& comm) {
                   std::vector<std::byte> from(comm.rank() == 0 ? 4 : 8), to(from.size());
                   comm.all_to_all(from, to);
                 }),
                 {"all_to_all: rank ", "gives 8", "gives 4", "hint:"}));
  CHECK(contains(failure_of([](Comm& comm) {
                   std::vector<double> x(comm.rank() == 0 ? 2 : 3);
                   comm.all_reduce(x.data(), x.size(), lx::ElementType::float64, lx::ReduceOp::sum);
                 }),
                 {"all_reduce", "16", "24"}));
  CHECK(contains(failure_of([](Comm& comm) {
                   std::byte b{};
                   const lx::Outgoing out{1 - comm.rank(), {&b, 1}};
                   comm.exchange({&out, 1}, {});
                 }),
                 {"exchange", "sends 1 bytes", "does not expect"}));
  CHECK(contains(failure_of([](Comm& comm) {
                   std::byte b{};
                   const lx::Incoming in{1 - comm.rank(), {&b, 1}};
                   comm.exchange({}, {&in, 1});
                 }),
                 {"exchange", "expects a message", "does not send"}));
  CHECK(contains(failure_of([](Comm& comm) {
                   std::array<std::byte, 2> out_bytes{}, in_bytes{};
                   const lx::Outgoing out{1 - comm.rank(), {out_bytes.data(), 2}};
                   const lx::Incoming in{1 - comm.rank(), {in_bytes.data(), 1}};
                   comm.exchange({&out, 1}, {&in, 1});
                 }),
                 {"exchange", "expects 1 bytes", "sends 2"}));
}

TEST_CASE("ranks that do not exist are errors", "[comm]") {
  lx::InProcessCommunicator alone;
  std::array<std::byte, 1> byte{};
  CHECK(contains(message_of<lx::ArgumentError>([&] { alone.broadcast(byte, 1); }),
                 {"broadcast: root 1 of 1 processes", "hint: "}));
  CHECK(contains(message_of<lx::ArgumentError>([&] { alone.broadcast(byte, -1); }), {"root -1"}));
  const lx::Outgoing out{3, byte};
  CHECK(contains(message_of<lx::ArgumentError>([&] { alone.exchange({&out, 1}, {}); }),
                 {"rank 3 of a group of 1"}));
  const std::vector<int> twice{0, 0}, other{1}, none;
  CHECK(contains(message_of<lx::ArgumentError>([&] { alone.subgroup(twice); }),
                 {"rank 0 twice in [0, 0]"}));
  CHECK(contains(message_of<lx::ArgumentError>([&] { alone.subgroup(other); }), {"rank 1"}));
  CHECK(contains(message_of<lx::ArgumentError>([&] { alone.subgroup(none); }),
                 {"rank 0 is not in []"}));
  CHECK(contains(message_of<lx::ArgumentError>([] { lx::InProcessCommunicator::job(0); }),
                 {"a job of 0 processes"}));
  CHECK(contains(message_of<lx::ArgumentError>([&] {
                   alone.all_reduce(nullptr, ~std::size_t{0}, lx::ElementType::float64,
                                    lx::ReduceOp::sum);
                 }),
                 {"18446744073709551615 elements of float64 have more than 2^64 bytes", "hint: "}));
}

TEST_CASE("counts that overflow are errors that name them", "[comm]") {
  lx::run_in_process(2, [](lx::InProcessCommunicator& comm) {
    for (const auto type : {lx::ElementType::uint8, lx::ElementType::float64}) {
      const auto text = message_of<lx::ArgumentError>([&] {
        comm.reduce_scatter(nullptr, nullptr, std::size_t{1} << 63, type, lx::ReduceOp::sum);
      });
      loadax_test::require(
          text.find(
              "reduce_scatter: 2 blocks of 9223372036854775808 elements are more than 2^64") !=
              std::string::npos,
          text);
    }
  });
}

TEST_CASE("a job of one refuses the reductions that a larger job would", "[comm]") {
  lx::InProcessCommunicator alone;
  std::array<bool, 1> flag{true};
  const auto sum = lx::ReduceOp::sum;
  CHECK(contains(message_of<lx::NotSupportedError>(
                     [&] { alone.all_reduce(flag.data(), 1, lx::ElementType::boolean, sum); }),
                 {"no sum of bool elements", "hint:"}));
  CHECK(contains(message_of<lx::NotSupportedError>([&] {
                   alone.reduce_scatter(flag.data(), flag.data(), 1, lx::ElementType::boolean, sum);
                 }),
                 {"no sum of bool elements", "hint:"}));
}

TEST_CASE("a communicator that was moved from is still there, an erased one says so", "[comm]") {
  lx::InProcessCommunicator alone;
  lx::AnyCommunicator any = std::move(alone);
  CHECK(alone.size() == 1);
  const lx::AnyCommunicator moved = std::move(any);
  CHECK(moved.size() == 1);
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { (void)any.rank(); }, [&] { any.barrier(); }, [&] { any.exchange({}, {}); }})
    CHECK(contains(message_of<lx::StateError>(call),
                   {"a moved-from AnyCommunicator was used", "hint:"}));
}

TEST_CASE("processes that cannot be started are an error, and those that were end", "[comm]") {
  lx::run_in_process(2, [](lx::InProcessCommunicator& comm) { comm.barrier(); });
  std::string text;
  {
    const loadax_test::FewThreads few;
    text = message_of<lx::EngineError>(
        [] { lx::run_in_process(8, [](lx::InProcessCommunicator& comm) { comm.barrier(); }); });
  }
  CHECK(contains(text, {"threads:", "of 8 processes started", "hint: raise the limit"}));
  CHECK(!contains(text, {"0 of 8"}));
}
