// Expectations of programs that run in several threads or processes.
#pragma once

#include <stdexcept>
#include <string>

namespace loadax_test {

/// A test framework's assertions do not work in several threads or processes at once: there, what
/// does not hold is an exception.
inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error("does not hold: " + what);
}

}  // namespace loadax_test
