#include <exception>
#include <memory>
#include <sys/wait.h>
#include <thread>
#include <type_traits>
#include <unistd.h>

#include <loadax/core/thread_context.hpp>
#include <loadax/device/simulated_topology.hpp>
#include <loadax/mesh/create_device_mesh.hpp>
#include <loadax/mesh/scope.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

namespace {

lx::Mesh mesh_of(int devices) {
  return {lx::create_device_mesh({devices}, lx::SimulatedTopology{{.devices_per_node = devices}}),
          {"data"}};
}

}  // namespace

TEST_CASE("without a scope there is no current mesh, and the error says how to open one") {
  CHECK(contains(message_of<lx::StateError>([] { (void)lx::current_mesh(); }),
                 {"no mesh in scope", "hint: ", "MeshScope"}));
  CHECK(lx::detail::current_mesh_context() == nullptr);
}

TEST_CASE("scopes nest and end with their block") {
  const lx::Mesh two = mesh_of(2), four = mesh_of(4);
  {
    const lx::MeshScope outer{two};
    CHECK(lx::current_mesh() == two);
    {
      const lx::MeshScope inner{four};
      CHECK(lx::current_mesh() == four);
    }
    CHECK(lx::current_mesh() == two);
    CHECK(lx::detail::current_mesh_context()->runtime == nullptr);
  }
  CHECK_THROWS_AS(lx::current_mesh(), lx::StateError);
  CHECK_FALSE(std::is_copy_constructible_v<lx::MeshScope>);
}

TEST_CASE("a scope ends where an exception leaves its block") {
  try {
    const lx::MeshScope scope{mesh_of(2)};
    throw 1;
  } catch (int) {
  }
  CHECK_THROWS_AS(lx::current_mesh(), lx::StateError);
}

TEST_CASE("scopes that end out of order leave nothing behind") {
  const lx::Mesh two = mesh_of(2), four = mesh_of(4);
  auto outer = std::make_unique<lx::MeshScope>(two);
  auto middle = std::make_unique<lx::MeshScope>(mesh_of(3));
  auto inner = std::make_unique<lx::MeshScope>(four);
  middle.reset();
  CHECK(lx::current_mesh() == four);
  outer.reset();
  CHECK(lx::current_mesh() == four);
  inner.reset();
  CHECK_THROWS_AS(lx::current_mesh(), lx::StateError);
}

TEST_CASE("a scope that ends on another thread ends the program") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::set_terminate([] { _exit(42); });
    auto scope = std::make_unique<lx::MeshScope>(mesh_of(2));
    std::thread([&] { scope.reset(); }).join();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 42);
}

TEST_CASE("a scope is of its thread, and the library's threads take it over") {
  const lx::MeshScope scope{mesh_of(2)};
  const auto context = lx::ThreadContext::capture();
  bool alone = false, adopted = false, after = false;
  std::thread([&] {
    alone = lx::detail::current_mesh_context() == nullptr;
    {
      const auto states = context.adopt();
      adopted = lx::current_mesh() == mesh_of(2);
    }
    after = lx::detail::current_mesh_context() == nullptr;
  }).join();
  CHECK(alone);
  CHECK(adopted);
  CHECK(after);
}
