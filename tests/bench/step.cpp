// What an empty step costs over 8 devices, against a bare dispatch to 8 threads and their join.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include <loadax/loadax.hpp>

#include "ratio.hpp"

namespace lx = loadax;

namespace {

/// Threads that stay, told to run and waited for by two counters, and nothing else.
class BareTeam {
 public:
  explicit BareTeam(std::uint32_t size) : size_(size) {
    for (std::uint32_t k = 0; k < size; ++k) threads_.emplace_back([this] { serve(); });
  }
  ~BareTeam() {
    stopping_.store(true);
    ticket_.fetch_add(1);
  }

  void run() {
    running_.store(size_, std::memory_order_relaxed);
    ticket_.fetch_add(1, std::memory_order_release);
    while (running_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  }

 private:
  void serve() {
    for (std::uint32_t seen = 0;;) {
      while (ticket_.load(std::memory_order_acquire) == seen) std::this_thread::yield();
      seen = ticket_.load(std::memory_order_acquire);
      if (stopping_.load()) return;
      running_.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  std::uint32_t size_;
  alignas(64) std::atomic<std::uint32_t> ticket_{0};
  alignas(64) std::atomic<std::uint32_t> running_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::jthread> threads_;
};

}  // namespace

int main() {
  const lx::SimulatedTopology topology{{.nodes = 1, .devices_per_node = 8}};
  const lx::Mesh mesh = lx::make_ddp_mesh_config(topology, {"data"}).create_device_mesh(topology);
  // Idle threads of the peer take processor time: they live only while they are measured.
  const auto bare = [] {
    return [team = std::make_unique<BareTeam>(8)](std::size_t calls) {
      for (std::size_t i = 0; i < calls; ++i) team->run();
    };
  };
  constexpr std::size_t rounds = 15, calls_a_round = 2000;

  const auto empty = lx::shard_map(mesh, std::tuple<>(), lx::P(), [](lx::DeviceContext&) {});
  const int result = loadax_bench::compare(
      {.name = "empty shard_map over 8 devices",
       .peer_name = "bare dispatch and join of 8 threads",
       .limit = 2.0},
      rounds, calls_a_round,
      [&] {
        return [&](std::size_t calls) {
          for (std::size_t i = 0; i < calls; ++i) empty();
        };
      },
      bare);

  const lx::MeshScope scope{mesh};
  auto state = lx::host_to_global_device_array(lx::HostArray<float>({64}), lx::P("data"));
  const auto batch = lx::host_to_global_device_array(lx::HostArray<float>({64}), lx::P("data"));
  const auto with_arrays =
      lx::shard_map(mesh, {lx::P("data"), lx::P("data")}, lx::P(),
                    [](lx::DeviceContext&, lx::View<float>, lx::View<const float>) {});
  return result | loadax_bench::compare(
                      {.name = "shard_map with an array in place and one as argument",
                       .peer_name = "the same dispatch"},
                      rounds, calls_a_round,
                      [&] {
                        return [&](std::size_t calls) {
                          for (std::size_t i = 0; i < calls; ++i)
                            with_arrays(lx::inout(state), batch);
                        };
                      },
                      bare);
}
