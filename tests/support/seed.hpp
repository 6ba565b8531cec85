// The seed of tests over random inputs.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace loadax_test {

/// The environment variable LOADAX_TEST_SEED where it is set, else a fixed number. Tests print it
/// when they fail.
inline std::uint64_t seed() {
  const char* text = std::getenv("LOADAX_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20260801;
}

}  // namespace loadax_test
