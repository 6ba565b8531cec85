#include <algorithm>
#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <loadax/device/simulated_topology.hpp>
#include <loadax/mesh/create_device_mesh.hpp>
#include <loadax/placement/runtime.hpp>
#include <loadax/placement/team.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/few_threads.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

TEST_CASE("a team's threads stay the same from run to run", "[placement]") {
  lx::Team team(4);
  std::vector<std::thread::id> first(4), second(4);
  team.run([&](std::size_t k) { first[k] = std::this_thread::get_id(); });
  team.run([&](std::size_t k) { second[k] = std::this_thread::get_id(); });
  CHECK(first == second);
  CHECK(std::set<std::thread::id>(first.begin(), first.end()).size() == 4);
}

TEST_CASE("all members of a team run at the same time", "[placement]") {
  lx::Team team(6);
  std::atomic<int> here{0};
  team.run([&](std::size_t) {
    ++here;
    while (here.load() < 6) std::this_thread::yield();
  });
  CHECK(here == 6);
}

TEST_CASE("an exception of a member is rethrown as it was, and the team goes on", "[placement]") {
  lx::Team team(3);
  for (int round = 0; round < 50; ++round) {
    int told = 0;
    CHECK_THROWS_AS(team.run(
                        [](std::size_t k) {
                          if (k == 1) throw std::domain_error("member 1");
                        },
                        [&] { ++told; }),
                    std::domain_error);
    CHECK(told == 1);
    std::atomic<int> ran{0};
    team.run([&](std::size_t) { ++ran; });
    CHECK(ran == 3);
  }
}

TEST_CASE("runs of several threads take turns", "[placement]") {
  lx::Team team(3);
  std::atomic<int> inside{0}, most{0}, total{0};
  {
    std::vector<std::jthread> callers;
    for (int c = 0; c < 4; ++c)
      callers.emplace_back([&] {
        for (int round = 0; round < 100; ++round)
          team.run([&](std::size_t) {
            const int now = ++inside;
            int seen = most.load();
            while (seen < now && !most.compare_exchange_weak(seen, now)) {
            }
            ++total;
            --inside;
          });
      });
  }
  CHECK(total == 4 * 100 * 3);
  CHECK(most <= 3);
}

TEST_CASE("a run inside a run is an error, not a deadlock", "[placement]") {
  lx::Team outer(2), inner(2);
  CHECK(contains(message_of<lx::StateError>(
                     [&] { outer.run([&](std::size_t) { inner.run([](std::size_t) {}); }); }),
                 {"inside the code of a device", "hint:"}));
}

TEST_CASE("the mesh in scope reaches a team's threads, and leaves them again", "[placement]") {
  const lx::SimulatedTopology topology{{.nodes = 1, .devices_per_node = 2}};
  const lx::Mesh mesh{lx::create_device_mesh(lx::MeshShape{2}, topology), {"data"}};
  lx::Team team(2);
  std::atomic<int> same{0};
  {
    lx::MeshScope scope{mesh};
    team.run([&](std::size_t) { same += lx::current_mesh() == mesh; });
  }
  CHECK(same == 2);
  CHECK_THROWS_AS(team.run([&](std::size_t) { lx::current_mesh(); }), lx::StateError);
}

TEST_CASE("a runtime has one memory for each device and one team for each set of devices",
          "[placement]") {
  const lx::SimulatedTopology topology{{.nodes = 1, .devices_per_node = 4}};
  const lx::Mesh row{lx::create_device_mesh(lx::MeshShape{4}, topology), {"data"}};
  const lx::Mesh square{lx::create_device_mesh(lx::MeshShape{2, 2}, topology), {"a", "b"}};
  lx::Runtime runtime;
  CHECK(runtime.memory(row.devices()[0]) == runtime.memory(row.devices()[0]));
  CHECK(runtime.memory(row.devices()[0]) != runtime.memory(row.devices()[1]));
  CHECK(runtime.team(row).threads() == runtime.team(square).threads());
  // In another order, each device keeps its thread.
  std::vector<lx::Device> reversed(topology.devices().rbegin(), topology.devices().rend());
  const lx::Mesh back{lx::create_device_mesh(lx::MeshShape{4}, reversed), {"data"}};
  std::vector<std::thread::id> forth_threads(4), back_threads(4);
  runtime.team(row).run([&](std::size_t k) { forth_threads[k] = std::this_thread::get_id(); });
  runtime.team(back).run([&](std::size_t k) { back_threads[k] = std::this_thread::get_id(); });
  std::ranges::reverse(back_threads);
  CHECK(forth_threads == back_threads);
  CHECK(runtime.process_count() == 1);
  CHECK(runtime.process_index() == 0);
}

TEST_CASE("the default runtime can be replaced, and a scope may name another", "[placement]") {
  const auto mine = std::make_shared<lx::Runtime>();
  const auto before = lx::set_default_runtime(mine);
  CHECK(lx::current_runtime() == mine);
  const lx::SimulatedTopology topology{{.nodes = 1, .devices_per_node = 2}};
  const lx::Mesh mesh{lx::create_device_mesh(lx::MeshShape{2}, topology), {"data"}};
  {
    const auto other = std::make_shared<lx::Runtime>();
    lx::MeshScope scope{mesh, other};
    CHECK(lx::current_runtime() == other);
    lx::MeshScope inner{mesh};
    CHECK(lx::current_runtime() == mine);
  }
  CHECK(lx::set_default_runtime(nullptr) == mine);
  REQUIRE(lx::current_runtime());
  CHECK(lx::current_runtime()->process_count() == 1);
  lx::set_default_runtime(before);
  CHECK(lx::current_runtime() == before);
}

TEST_CASE("a runtime that does not reach a mesh says so", "[placement]") {
  lx::Runtime runtime;
  const lx::SimulatedTopology topology{{.nodes = 2,
                                        .devices_per_node = 2,
                                        .processes = lx::Processes::per_node,
                                        .process_index = 1}};
  const lx::Mesh mesh{lx::create_device_mesh(lx::MeshShape{4}, topology), {"data"}, 1};
  CHECK(contains(message_of<lx::StateError>([&] { runtime.check_runs(mesh); }),
                 {"spans 2 processes", "made by process 1", "process 0 of 1", "hint:"}));
  const lx::Mesh elsewhere{lx::create_device_mesh(lx::MeshShape{4}, topology), {"data"}, 7};
  CHECK(contains(message_of<lx::StateError>([&] { runtime.check_runs(elsewhere); }),
                 {"no device of process 7", "hint:"}));
}

TEST_CASE("a team of none has nothing to run", "[placement]") {
  lx::Team none(0);
  int ran = 0;
  none.run([&](std::size_t) { ++ran; });
  CHECK(ran == 0);
  CHECK(
      contains(message_of<lx::StateError>([&] { lx::MeshTeam().run([&](std::size_t) { ++ran; }); }),
               {"an empty MeshTeam was used", "hint: take one"}));
}

TEST_CASE("device threads that cannot be started are an error, and a later run starts them",
          "[placement]") {
  lx::Team(1).run([](std::size_t) {});  // a sanitizer starts a thread of its own with the first
  lx::Team team(8);
  std::string text;
  {
    const loadax_test::FewThreads few;
    text = message_of<lx::EngineError>([&] { team.run([](std::size_t) {}); });
  }
  CHECK(contains(text, {"threads:", "of 8 device threads started", "hint: raise the limit"}));
  CHECK(!contains(text, {"0 of 8"}));
  std::atomic<int> ran{0};
  team.run([&](std::size_t) { ++ran; });
  CHECK(ran == 8);
}

TEST_CASE("a runtime that cannot make memory says so", "[placement]") {
  CHECK(contains(message_of<lx::ArgumentError>([] {
                   lx::Runtime(lx::InProcessCommunicator(), lx::Runtime::MemoryFactory());
                 }),
                 {"a Runtime without a function that makes its memories", "hint:"}));
  lx::Runtime runtime(lx::InProcessCommunicator(), [](const lx::Device&) { return nullptr; });
  CHECK(contains(message_of<lx::StateError>([&] { runtime.memory({.id = 3}); }),
                 {"the Runtime's function made no memory for device 3", "hint:"}));
  lx::AnyCommunicator communicator{lx::InProcessCommunicator()};
  const auto moved = std::move(communicator);
  CHECK(contains(message_of<lx::StateError>([&] { lx::Runtime(std::move(communicator)); }),
                 {"a moved-from AnyCommunicator was used", "hint:"}));
}
