#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <loadax/device/simulated_topology.hpp>
#include <loadax/mesh/create_device_mesh.hpp>
#include <loadax/show/mesh.hpp>
#include <loadax/show/sharding.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;
using lx::P;

namespace {

lx::Mesh mesh_of(const std::vector<std::int64_t>& shape, lx::AxisNames<> names, int nodes = 1,
                 lx::Platform platform = lx::Platform::cpu) {
  std::int64_t count = 1;
  for (const auto size : shape) count *= size;
  const lx::SimulatedTopology topology{
      {.nodes = nodes, .devices_per_node = static_cast<int>(count) / nodes, .platform = platform}};
  return {lx::create_device_mesh(shape, topology), std::move(names)};
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) result.push_back(line);
  return result;
}

}  // namespace

// The pictures that are compared word for word are those of JAX 0.10.2's
// jax.debug.visualize_sharding(shape, sharding, use_color=False).

TEST_CASE("a sharding of two dimensions has 7 columns inside a box for (8, 8) on (8, 4)") {
  const lx::NamedSharding s{mesh_of({8, 4}, {"x", "y"}), P("x", "y")};
  const auto picture = lines(lx::show(s, {8, 8}));
  REQUIRE(picture.size() == 17);
  CHECK(picture[0] == "┌───────┬───────┬───────┬───────┐");
  CHECK(picture[1] == "│ CPU 0 │ CPU 1 │ CPU 2 │ CPU 3 │");
  CHECK(picture[2] == "├───────┼───────┼───────┼───────┤");
  CHECK(picture[5] == "│ CPU 8 │ CPU 9 │CPU 10 │CPU 11 │");
  CHECK(picture[16] == "└───────┴───────┴───────┴───────┘");
}

TEST_CASE("a sharding of rows has 23 columns inside a box and names all replicas") {
  const lx::NamedSharding s{mesh_of({2, 4}, {"x", "y"}), P("x")};
  CHECK(lx::show(s, {8, 8}) ==
        "┌───────────────────────┐\n"
        "│                       │\n"
        "│      CPU 0,1,2,3      │\n"
        "│                       │\n"
        "│                       │\n"
        "├───────────────────────┤\n"
        "│                       │\n"
        "│      CPU 4,5,6,7      │\n"
        "│                       │\n"
        "│                       │\n"
        "└───────────────────────┘\n");
}

TEST_CASE("a sharding of columns names its devices in ascending order") {
  const lx::NamedSharding s{mesh_of({4, 2}, {"x", "y"}), P(lx::none, "y")};
  const auto picture = lines(lx::show(s, {8, 8}));
  REQUIRE(picture.size() == 11);
  CHECK(picture[5] == "│CPU 0,2,4,6│CPU 1,3,5,7│");
}

TEST_CASE("an array of one dimension is drawn as one row") {
  const lx::NamedSharding s{mesh_of({4, 2}, {"x", "y"}), P("x")};
  CHECK(lx::show(s, {8}) ==
        "┌───────┬───────┬───────┬───────┐\n"
        "│CPU 0,1│CPU 2,3│CPU 4,5│CPU 6,7│\n"
        "└───────┴───────┴───────┴───────┘\n");
}

TEST_CASE("a batch over eight devices has one box for each") {
  const auto mesh = mesh_of({2, 4}, {"data", "model"}, 1, lx::Platform::gpu);
  const auto picture = lines(lx::show({mesh, lx::every_device(mesh)}, {64, 64}));
  REQUIRE(picture.size() == 17);
  CHECK(picture[0] == "┌───────────────────────┐");
  for (int i = 0; i < 8; ++i)
    CHECK(picture[static_cast<std::size_t>(2 * i + 1)] ==
          "│         GPU " + std::to_string(i) + "         │");
}

TEST_CASE("pictures keep within their width, by narrow boxes, line breaks and gaps") {
  const auto mesh = mesh_of({8, 4}, {"x", "y"});
  for (const auto& [shape, spec] :
       std::vector<std::pair<lx::Shape, P>>{{{1, 32000}, P(lx::none, lx::axes("x", "y"))},
                                            {{32}, P(lx::axes("y", "x"))},
                                            {{64, 64}, P()},
                                            {{64, 4096}, P("y", "x")},
                                            {{32, 32}, P(lx::none, "x")}})
    for (const std::size_t width : {80, 40})
      for (const auto& line : lines(lx::show({mesh, spec}, shape, {.max_width = width}))) {
        INFO(line);
        CHECK(lx::detail::text_width(line) <= width);
      }
  CHECK(contains(lx::show({mesh, P(lx::axes("x", "y"))}, {32}), {"CPU 0", "…", "CPU 31"}));
  CHECK(contains(lx::show({mesh, P()}, {64, 64}), {"CPU 0,1,2", ",31 "}));
}

TEST_CASE("a picture of thousands of devices stays small") {
  const auto mesh = mesh_of({1024, 8}, {"data", "model"});
  const auto rows = lines(lx::show({mesh, lx::every_device(mesh)}, {8192, 64}));
  CHECK(rows.size() == 129);
  CHECK(contains(lx::show({mesh, P()}, {8192, 64}), {"CPU 0,1,2", "…", "8191"}));
  CHECK(lines(lx::show(mesh, {.max_rows = 8})).size() == 19);
}

TEST_CASE("only arrays of one or two dimensions are drawn") {
  const lx::NamedSharding s{mesh_of({4, 2}, {"x", "y"}), P("x")};
  for (const lx::Shape& shape : {lx::Shape{}, lx::Shape{8, 2, 2}})
    CHECK(contains(
        message_of<lx::ArgumentError>([&] { lx::show(s, shape); }),
        {"a picture of the array " + lx::bracketed(shape) + " of ", "dimensions", "hint: "}));
  CHECK_THROWS_AS(lx::show(s, {6}), lx::ArgumentError);
}

TEST_CASE("there is colour only when it is asked for") {
  const lx::NamedSharding s{mesh_of({4, 2}, {"x", "y"}), P("x")};
  CHECK(lx::show(s, {8, 8}).find('\x1b') == std::string::npos);
  CHECK(lx::show(s.mesh()).find('\x1b') == std::string::npos);
  CHECK(contains(lx::show(s, {8, 8}, {.color = true}), {"\x1b[", "\x1b[0m"}));
  CHECK(contains(lx::show(s.mesh(), {.color = true}), {"\x1b[", "\x1b[0m"}));
}

TEST_CASE("a mesh is shown with its axes and device numbers") {
  CHECK(lx::show(mesh_of({2, 4}, {"data", "model"}, 2)) ==
        "(data=2, model=4): 8 cpu devices\n"
        "           model\n"
        "     ┌───┬───┬───┬───┐\n"
        "     │ 0 │ 1 │ 2 │ 3 │\n"
        "data ├───┼───┼───┼───┤\n"
        "     │ 4 │ 5 │ 6 │ 7 │\n"
        "     └───┴───┴───┴───┘\n");
  CHECK(lx::show(mesh_of({3}, {"data"})) ==
        "(data=3): 3 cpu devices\n"
        "    data\n"
        "┌───┬───┬───┐\n"
        "│ 0 │ 1 │ 2 │\n"
        "└───┴───┴───┘\n");
  CHECK(lx::show(mesh_of({}, lx::AxisNames<>(std::vector<std::string>{}))) ==
        "(): 1 cpu device\n┌───┐\n│ 0 │\n└───┘\n");
}

TEST_CASE("a mesh of three axes is shown plane by plane, with numbers of one width") {
  CHECK(lx::show(mesh_of({2, 2, 3}, {"pp", "dp", "tp"})) ==
        "(pp=2, dp=2, tp=3): 12 cpu devices\n"
        "pp=0\n"
        "          tp\n"
        "   ┌────┬────┬────┐\n"
        "   │  0 │  1 │  2 │\n"
        "dp ├────┼────┼────┤\n"
        "   │  3 │  4 │  5 │\n"
        "   └────┴────┴────┘\n"
        "pp=1\n"
        "          tp\n"
        "   ┌────┬────┬────┐\n"
        "   │  6 │  7 │  8 │\n"
        "dp ├────┼────┼────┤\n"
        "   │  9 │ 10 │ 11 │\n"
        "   └────┴────┴────┘\n");
}

TEST_CASE("pictures without room are drawn as small as they can be") {
  const auto mesh = mesh_of({64, 64}, {"x", "y"});
  const lx::PictureOptions none{.max_width = 0, .max_rows = 0};
  CHECK(lines(lx::show(mesh, none)).size() == 9);
  CHECK(lines(lx::show({mesh, P("x", "y")}, {64, 64}, none)).size() == 7);
  CHECK(contains(lx::show({mesh, P()}, {0, 0}, none), {"…"}));
}
