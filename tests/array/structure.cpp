#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <loadax/array/host_array.hpp>
#include <loadax/array/structure.hpp>
#include <loadax/array/view.hpp>

#include "support/catch.hpp"
#include "support/expect.hpp"

namespace lx = loadax;
using loadax_test::contains;
using loadax_test::message_of;

namespace {

template <template <class> class Leaf>
struct Layer {
  Leaf<float> w, b;
};
template <template <class> class Leaf>
struct Model {
  std::vector<Layer<Leaf>> layers;
  std::map<std::string, Leaf<int>> counts;
  std::tuple<Leaf<bool>, Leaf<double>> pair;
  Layer<Leaf> last;
};

lx::HostArray<float> filled(float value) { return lx::HostArray<float>({2}, {value, value}); }
Layer<lx::HostArray> layer(float value) { return {filled(value), filled(value + 1)}; }
Model<lx::HostArray> model() {
  return {{layer(1), layer(3)},
          {{"x", lx::HostArray<int>({1}, {5})}, {"y", lx::HostArray<int>({1}, {6})}},
          {lx::HostArray<bool>({1}), lx::HostArray<double>({1})},
          layer(7)};
}

std::vector<std::string> paths_of(const auto& structure) {
  std::vector<std::string> paths;
  lx::for_each_leaf([&](const lx::LeafPath& path, const auto&) { paths.push_back(path.str()); },
                    structure);
  return paths;
}

const std::vector<std::string> model_paths{
    "layers[0].w", "layers[0].b", "layers[1].w", "layers[1].b", "counts.x",
    "counts.y",    "pair[0]",     "pair[1]",     "last.w",      "last.b"};

}  // namespace

TEST_CASE("what is a structure of arrays", "[array]") {
  static_assert(lx::ArrayStructure<lx::HostArray<int>> && lx::ArrayLeaf<lx::HostArray<int>>);
  static_assert(lx::ArrayStructure<Layer<lx::HostArray>> && !lx::ArrayLeaf<Layer<lx::HostArray>>);
  static_assert(lx::ArrayStructure<Model<lx::View>>);
  static_assert(lx::ArrayStructure<const Model<lx::ConstView>&>);
  static_assert(!lx::ArrayStructure<std::vector<float>>);
  static_assert(!lx::ArrayStructure<std::tuple<int>>);
  static_assert(!lx::ArrayStructure<int>);
  static_assert(std::is_same_v<lx::rebind_t<Model<lx::HostArray>, lx::View>, Model<lx::View>>);
  SUCCEED();
}

TEST_CASE("leaves are visited in order and know their paths", "[array]") {
  CHECK(paths_of(model()) == model_paths);
  CHECK(paths_of(filled(1)) == std::vector<std::string>{""});
  CHECK(lx::LeafPath().prefix().empty());
}

TEST_CASE("mapping keeps the structure, in the same order", "[array]") {
  auto m = model();
  std::vector<std::string> paths;
  const auto views = lx::map_structure<lx::View>(
      [&](const lx::LeafPath& path, auto& leaf) {
        paths.push_back(path.str());
        return lx::View(leaf.data(), leaf.shape());
      },
      m);
  static_assert(std::is_same_v<decltype(views), const Model<lx::View>>);
  CHECK(paths == model_paths);
  CHECK(views.layers[1].b.data() == m.layers[1].b.data());
  CHECK(views.counts.at("y").values()[0] == 6);
  CHECK(views.last.w.values()[0] == 7.0f);
}

TEST_CASE("a companion is a structure, or one value for any part of it", "[array]") {
  const auto m = model();
  std::vector<double> sums;
  const auto add = [&](const lx::LeafPath&, const auto& leaf, const auto& other) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(other)>>)
      sums.push_back(static_cast<double>(leaf.values()[0]) + other);
    else
      sums.push_back(static_cast<double>(leaf.values()[0]) +
                     static_cast<double>(other.values()[0]));
  };
  lx::for_each_leaf(add, m, m);
  CHECK(sums == std::vector<double>{2, 4, 6, 8, 10, 12, 0, 0, 14, 16});
  sums.clear();
  const int ten = 10;
  lx::for_each_leaf(add, m.last, ten);
  CHECK(sums == std::vector<double>{17, 18});
  sums.clear();
  const std::tuple<Layer<lx::HostArray>, lx::HostArray<float>> pair{layer(1), filled(5)};
  lx::for_each_leaf(add, pair, ten);
  CHECK(sums == std::vector<double>{11, 12, 15});
}

TEST_CASE("companions of another form are errors that name the place", "[array]") {
  const auto ignore = [](const lx::LeafPath&, const auto&, const auto&) {};
  const auto m = model();
  auto other = model();
  other.layers.pop_back();
  CHECK(contains(message_of<lx::ArgumentError>([&] { lx::for_each_leaf(ignore, m, other); }),
                 {"leaf 'layers'", "2 elements", "has 1", "hint:"}));
  other = model();
  other.counts.erase("y");
  CHECK(contains(message_of<lx::ArgumentError>([&] { lx::for_each_leaf(ignore, m, other); }),
                 {"leaf 'counts': no entry 'y' in the structure that goes with it", "hint: give"}));
  CHECK(contains(message_of<lx::ArgumentError>([&] { lx::for_each_leaf(ignore, other, m); }),
                 {"leaf 'counts'", "'y'", "does not have"}));
}
