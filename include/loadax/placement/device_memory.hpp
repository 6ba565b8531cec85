// The memory of one device: allocation, copies, and how much is in use.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include <fmt/core.h>

#include <loadax/array/host_array.hpp>
#include <loadax/core/error.hpp>
#include <loadax/placement/strided_copy.hpp>

namespace loadax {
inline namespace v0 {

/// A queue of a device's work, in which copies run in order. Engines derive their own.
class Stream {
 public:
  virtual ~Stream() = default;
};

/// A moment in a stream. A default one has already happened.
class Event {
 public:
  class State {
   public:
    virtual ~State() = default;
    virtual void wait() = 0;
  };

  Event() = default;
  explicit Event(std::shared_ptr<State> state) : state_(std::move(state)) {}
  /// Returns when it has happened. @throws EngineError where the work before it failed
  void wait() const {
    if (state_) state_->wait();
  }

 private:
  std::shared_ptr<State> state_;
};

/// The memory of one device. An engine derives a class for its kind of memory; host memory is
/// below. Thread-safe. A null stream is the device's default one. The source and destination of a
/// copy must stay as they are until its event has happened.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  virtual ~DeviceMemory() = default;

  /// Whether the processor reads and writes it directly.
  virtual bool is_host() const noexcept = 0;

  /// Memory aligned to array_alignment bytes; null for no bytes.
  /// @throws std::bad_alloc where there is not enough
  void* allocate(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    void* data = do_allocate(bytes);
    const std::size_t now = in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::size_t peak = peak_.load(std::memory_order_relaxed);
    while (peak < now && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
    return data;
  }
  /// @pre `data` came from allocate(bytes)
  void deallocate(void* data, std::size_t bytes) noexcept {
    if (bytes == 0) return;
    do_deallocate(data, bytes);
    in_use_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  /// From host memory to this one.
  virtual Event copy_in(const StridedCopy& copy, Stream* stream = nullptr) = 0;
  /// From this memory to host memory.
  virtual Event copy_out(const StridedCopy& copy, Stream* stream = nullptr) = 0;
  /// From `source`'s memory, of the same engine, to this one.
  virtual Event copy_between(const StridedCopy& copy, DeviceMemory& source,
                             Stream* stream = nullptr) = 0;

  /// Bytes that are allocated now.
  std::size_t bytes_in_use() const noexcept { return in_use_.load(std::memory_order_relaxed); }
  /// The most bytes that were in use at once since `reset_peak`.
  std::size_t peak_bytes() const noexcept { return peak_.load(std::memory_order_relaxed); }
  void reset_peak() noexcept { peak_.store(bytes_in_use(), std::memory_order_relaxed); }

 private:
  virtual void* do_allocate(std::size_t bytes) = 0;
  virtual void do_deallocate(void* data, std::size_t bytes) noexcept = 0;

  std::atomic<std::size_t> in_use_{0}, peak_{0};
};

/// Host memory: copies are done when the call returns.
class HostMemory final : public DeviceMemory {
 public:
  bool is_host() const noexcept override { return true; }
  Event copy_in(const StridedCopy& copy, Stream* = nullptr) override {
    run_on_host(copy);
    return {};
  }
  Event copy_out(const StridedCopy& copy, Stream* = nullptr) override {
    run_on_host(copy);
    return {};
  }
  Event copy_between(const StridedCopy& copy, DeviceMemory&, Stream* = nullptr) override {
    run_on_host(copy);
    return {};
  }

 private:
  void* do_allocate(std::size_t bytes) override {
    return ::operator new(bytes, std::align_val_t{array_alignment});
  }
  void do_deallocate(void* data, std::size_t) noexcept override {
    ::operator delete(data, std::align_val_t{array_alignment});
  }
};

/// A piece of a device's memory, freed with its last owner.
class DeviceBuffer {
 public:
  /// Its bytes have no particular value.
  /// @throws ArgumentError for no memory; std::bad_alloc where there is not enough
  DeviceBuffer(std::shared_ptr<DeviceMemory> memory, std::size_t bytes)
      : memory_(std::move(memory)), bytes_(bytes) {
    if (!memory_)
      throw ArgumentError(fmt::format("DeviceBuffer: {} bytes of no memory", bytes),
                          "give the DeviceMemory that they are in");
    data_ = memory_->allocate(bytes);
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { memory_->deallocate(data_, bytes_); }

  DeviceMemory& memory() const noexcept { return *memory_; }
  const std::shared_ptr<DeviceMemory>& shared_memory() const noexcept { return memory_; }
  std::size_t bytes() const noexcept { return bytes_; }
  void* data() const noexcept { return data_; }

 private:
  std::shared_ptr<DeviceMemory> memory_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

}  // namespace v0
}  // namespace loadax
