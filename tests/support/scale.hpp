// How long property tests take.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>

namespace loadax_test {

/// `count` random cases, times LOADAX_TEST_SCALE where the environment has it (.ci/nightly).
[[nodiscard]] inline std::size_t scaled(std::size_t count) {
  const char* scale = std::getenv("LOADAX_TEST_SCALE");
  return scale == nullptr ? count : count * std::stoul(scale);
}

}  // namespace loadax_test
