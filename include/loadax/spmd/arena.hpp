// Memory that a device's code uses within a step.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <loadax/placement/device_memory.hpp>

namespace loadax {
inline namespace v0 {

/// Memory of one device that is freed in the reverse order of its allocation: at the end of the
/// step, or of an ArenaScope within it. For one thread.
class Arena {
 public:
  explicit Arena(std::shared_ptr<DeviceMemory> memory) : memory_(std::move(memory)) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { release(0); }

  /// Aligned to array_alignment bytes, of no particular value.
  /// @throws std::bad_alloc where there is not enough memory
  void* allocate(std::size_t bytes) {
    blocks_.push_back({nullptr, 0});
    blocks_.back().data = memory_->allocate(bytes);
    blocks_.back().bytes = bytes;
    return blocks_.back().data;
  }

  /// Where the arena stands, for `release`.
  std::size_t mark() const noexcept { return blocks_.size(); }
  /// Frees what was allocated since `mark`.
  void release(std::size_t mark) noexcept {
    for (; blocks_.size() > mark; blocks_.pop_back())
      memory_->deallocate(blocks_.back().data, blocks_.back().bytes);
  }

  const std::shared_ptr<DeviceMemory>& shared_memory() const noexcept { return memory_; }

 private:
  struct Block {
    void* data;
    std::size_t bytes;
  };

  std::shared_ptr<DeviceMemory> memory_;
  std::vector<Block> blocks_;
};

}  // namespace v0
}  // namespace loadax
