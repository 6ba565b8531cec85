// What the messages of a step say, word for word.
#include <exception>
#include <string>
#include <tuple>

#include <loadax/placement/host_to_global_device_array.hpp>
#include <loadax/spmd/shard_map.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"
#include "support/meshes.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::counting;
using loadax_test::mesh_of;
using loadax_test::message_of;

namespace {

/// What a step over 4 devices fails with whose code is `code(ctx)`.
template <class Error = lx::ArgumentError, class Code>
std::string failure_of(const lx::P& out_spec, Code code) {
  const auto mesh = mesh_of({2, 2}, {"x", "y"});
  return message_of<Error>(
      [&] { lx::shard_map(mesh, std::tuple<>(), out_spec, code, {.check_replicas = true})(); });
}

}  // namespace

TEST_CASE("a destination of another shape, or over the argument, is named with both", "[spmd]") {
  CHECK(contains(failure_of(lx::P(),
                            [](lx::DeviceContext& ctx) {
                              ctx.psum_into(ctx.allocate<float>({4}), ctx.allocate<float>({3}),
                                            "x");
                            }),
                 {"psum_into: the destination has shape [3], the result [4]", "hint: give"}));
  CHECK(contains(failure_of(lx::P(),
                            [](lx::DeviceContext& ctx) {
                              const auto all = ctx.allocate<float>({8});
                              ctx.psum_into(lx::ConstView<float>(all.data(), {5}),
                                            lx::View<float>(all.data() + 3, {5}), "x");
                            }),
                 {"psum_into: the destination [5] overlaps the argument [5]", "hint: give"}));
}

TEST_CASE("a result that its out_spec does not suit is named with it", "[spmd]") {
  CHECK(contains(failure_of(lx::P("x"), [](lx::DeviceContext&) { return 1.0f; }),
                 {"a step that returns a number has the out_spec P(x)", "hint: a number"}));
  CHECK(contains(
      failure_of(lx::P("x", "y"), [](lx::DeviceContext&) { return lx::HostArray<int>({2}); }),
      {"a result of shape [2] on each device under the out_spec P(x, y)", "hint: "}));
  CHECK(contains(
      failure_of(lx::P("x"),
                 [](lx::DeviceContext& ctx) { return lx::HostArray<int>({1}, {ctx.device().id}); }),
      {"the result should be equal on all devices that hold the same part of it, but "
       "differs on devices 0 and 1",
       "hint: reduce it"}));
}

TEST_CASE("an argument that the in_spec does not divide is named by its number", "[spmd]") {
  const auto mesh = mesh_of({2, 2}, {"x", "y"});
  lx::MeshScope scope{mesh};
  const auto even = lx::host_to_global_device_array(counting({4}), lx::P());
  const auto odd = lx::host_to_global_device_array(counting({3}), lx::P());
  const auto step = lx::shard_map(mesh, {lx::P("x"), lx::P("x")}, lx::P(),
                                  [](lx::DeviceContext&, const auto&, const auto&) {});
  CHECK(contains(message_of<lx::ArgumentError>([&] { step(even, odd); }),
                 {"argument 1: dimension 0 of size 3 of the array [3]", "hint: "}));
}

TEST_CASE("a failure that a device's code has swallowed is still one", "[spmd]") {
  CHECK(contains(failure_of<lx::StateError>(lx::P(),
                                            [](lx::DeviceContext& ctx) {
                                              if (ctx.device().id == 0) return;
                                              try {
                                                ctx.psum(1.0, "x");
                                                ctx.psum(1.0, "y");
                                              } catch (const std::exception&) {
                                              }
                                            }),
                 {"the step failed, and the code of a device caught the exception that says why",
                  "hint: let"}));
}
