// Programs of several processes, played by threads.
#pragma once

#include <memory>
#include <utility>

#include <loadax/comm/in_process.hpp>
#include <loadax/placement/runtime.hpp>

namespace loadax_test {

/// Runs `program(process, runtime)` on one thread for each of `count` processes that reach each
/// other, and rethrows what the first of them threw.
template <class Program>
void run_processes(int count, Program&& program) {
  loadax::run_in_process(count, [&](loadax::InProcessCommunicator& comm) {
    program(comm.rank(), std::make_shared<loadax::Runtime>(loadax::AnyCommunicator(comm)));
  });
}

}  // namespace loadax_test
