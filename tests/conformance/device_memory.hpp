// What every model of DeviceMemory does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include <loadax/array/host_array.hpp>
#include <loadax/placement/device_memory.hpp>

#include "support/require.hpp"

namespace loadax_test {

/// The whole suite, on one memory (which nobody else uses meanwhile).
inline void check_device_memory(const std::shared_ptr<loadax::DeviceMemory>& memory) {
  using loadax::Box;
  require(memory->bytes_in_use() == 0, "nothing is in use at first");
  require(memory->allocate(0) == nullptr, "no bytes need no memory");
  {
    loadax::DeviceBuffer a(memory, 1000);
    require(memory->bytes_in_use() == 1000, "a buffer's bytes are in use");
    require(reinterpret_cast<std::uintptr_t>(a.data()) % loadax::array_alignment == 0,
            "memory is aligned");
    {
      const loadax::DeviceBuffer b(memory, 24);
      require(memory->bytes_in_use() == 1024, "buffers add up");
    }
    require(memory->bytes_in_use() == 1000, "a buffer is freed with its owner");
    require(memory->peak_bytes() == 1024, "the peak is the most in use at once");
    memory->reset_peak();
    require(memory->peak_bytes() == 1000, "the peak starts anew with what is in use");
  }
  require(memory->bytes_in_use() == 0, "nothing is left in use");

  // A box goes in, from buffer to buffer, and out again; its surroundings stay as they are.
  std::vector<std::int32_t> host(5 * 6);
  std::iota(host.begin(), host.end(), 0);
  const Box whole{{0, 5}, {0, 6}}, box{{1, 4}, {2, 5}};
  const std::size_t bytes = host.size() * sizeof(std::int32_t);
  loadax::DeviceBuffer first(memory, bytes), second(memory, bytes);
  memory->copy_in(loadax::copy_of_box(4, whole, host.data(), whole, first.data(), whole)).wait();
  std::vector<std::int32_t> zero(host.size(), 0), out(host.size(), -1);
  memory->copy_in(loadax::copy_of_box(4, whole, zero.data(), whole, second.data(), whole)).wait();
  memory
      ->copy_between(loadax::copy_of_box(4, box, first.data(), whole, second.data(), whole),
                     *memory)
      .wait();
  memory->copy_out(loadax::copy_of_box(4, whole, second.data(), whole, out.data(), whole)).wait();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t row = i / 6, column = i % 6;
    const bool inside = row >= 1 && row < 4 && column >= 2 && column < 5;
    require(out[i] == (inside ? host[i] : 0), "a box is copied, and nothing else");
  }
}

}  // namespace loadax_test
