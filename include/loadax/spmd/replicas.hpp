// That the devices which hold the same part of an array hold the same elements.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/device/device.hpp>
#include <loadax/placement/array.hpp>
#include <loadax/placement/strided_copy.hpp>

namespace loadax {
inline namespace v0 {
namespace detail {

/// `what`: "the result", say.
inline ArgumentError differing_replicas(std::string_view what, const Device& first,
                                        const Device& other) {
  return ArgumentError(fmt::format("{} should be equal on all devices that hold the same part of "
                                   "it, but differs on devices {} and {}",
                                   what, first.id, other.id),
                       "reduce it over the axes that its spec does not name, with psum or pmean, "
                       "or name them");
}

/// Compares each shard in this process with the first one of the same elements, bit by bit.
/// @throws ArgumentError where they differ
template <class T>
void compare_replicas(std::string_view what, const Array<T>& array) {
  const auto shards = array.addressable_shards();
  const auto bytes_of = [](const Shard<T>& shard) {
    std::vector<std::byte> bytes(shard.buffer->bytes());
    const Box all{{0, bytes.size()}};
    shard.buffer->memory()
        .copy_out(copy_of_box(1, all, shard.buffer->data(), all, bytes.data(), all))
        .wait();
    return bytes;
  };
  for (std::size_t k = 0; k < shards.size(); ++k)
    for (std::size_t j = 0; j < k; ++j) {
      if (shards[j].index != shards[k].index) continue;
      if (bytes_of(shards[j]) != bytes_of(shards[k]))
        throw differing_replicas(what, shards[j].device, shards[k].device);
      break;
    }
}

}  // namespace detail
}  // namespace v0
}  // namespace loadax
