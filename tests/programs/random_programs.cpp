// Random programs against a model: placing, moving, stepping and bringing back.
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/placement/global_to_host_array.hpp>
#include <loadax/placement/host_to_global_device_array.hpp>
#include <loadax/placement/with_sharding_constraint.hpp>
#include <loadax/spmd/shard_map.hpp>

#include "programs/model.hpp"
#include "support/catch.hpp"
#include "support/meshes.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

namespace lx = loadax;
using namespace loadax_test;

namespace {

template <template <class> class Leaf>
struct Layer {
  Leaf<double> weight;
  Leaf<std::uint8_t> bytes;
  Leaf<bool> mask;
};

const std::vector<std::string> names{"a", "b", "c"};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

ModelMesh random_mesh(Random& random) {
  static const std::vector<std::vector<std::size_t>> meshes{
      {1}, {2}, {3}, {6}, {2, 2}, {3, 2}, {1, 4}, {4, 2}, {8}, {2, 2, 2}, {2, 1, 3}, {1, 1, 1}};
  return {meshes[random.below(meshes.size())]};
}

Shape random_shape(Random& random) {
  static const std::size_t sizes[] = {1, 2, 3, 4, 6, 8, 12};
  Shape shape;
  for (std::size_t rank = random.below(5); rank > 0; --rank)
    shape.push_back(random.one_in(40) ? 0 : sizes[random.below(std::size(sizes))]);
  while (lx::element_count(shape) > 400) shape.pop_back();
  return shape;
}

Layout random_layout(Random& random, const ModelMesh& mesh, const Shape& shape) {
  Layout layout(shape.size());
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < mesh.sizes.size(); ++axis) axes.push_back(axis);
  random.shuffle(axes);
  for (const auto axis : axes) {
    const std::size_t d = random.below(shape.size() + 1);
    if (d == shape.size()) continue;
    layout[d].push_back(axis);
    if (shape[d] % mesh.count(layout[d]) != 0) layout[d].pop_back();
  }
  return layout;
}

std::vector<std::string> names_of(const std::vector<std::size_t>& axes) {
  std::vector<std::string> result;
  for (const auto axis : axes) result.push_back(names[axis]);
  return result;
}

lx::PartitionSpec spec_of(const Layout& layout) {
  std::vector<lx::PartitionSpec::Entry> entries;
  for (const auto& axes : layout) entries.emplace_back(lx::Axes{names_of(axes)});
  return lx::PartitionSpec(std::move(entries));
}

/// An operation that such an array can have.
template <class T>
Operation random_operation(Random& random, const ModelMesh& mesh, const Shape& shape) {
  Operation op;
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < mesh.sizes.size(); ++axis) axes.push_back(axis);
  random.shuffle(axes);
  axes.resize(1 + random.below(axes.size()));
  op.axes = axes;
  const std::size_t n = mesh.count(axes);
  op.kind = static_cast<Kind>(random.below(kinds));
  const bool reduces = op.kind == Kind::psum || op.kind == Kind::psum_scatter;
  const bool orders = op.kind == Kind::pmax || op.kind == Kind::pmin;
  if ((reduces && !has_sum<T>) || (orders && !has_order<T>)) op.kind = Kind::next;
  op.tiled = random.one_in(2);

  Shape part = shape;
  if (op.kind == Kind::psum_scatter || op.kind == Kind::all_to_all) {
    std::vector<std::size_t> possible;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (op.tiled ? shape[d] % n == 0 : shape[d] == n) possible.push_back(d);
    if (possible.empty()) return {.kind = Kind::next, .axes = axes};
    op.from = possible[random.below(possible.size())];
    if (!op.tiled) part.pop_back();
  }
  if (op.kind == Kind::all_gather || op.kind == Kind::all_to_all) {
    if (op.tiled && part.empty()) op.tiled = false;
    op.to = random.below(part.size() + (op.tiled ? 0 : 1));
    // Arrays must not grow without end.
    if (op.kind == Kind::all_gather && (part.size() > 4 || lx::element_count(shape) > 800))
      return {.kind = Kind::next, .axes = axes};
  }
  op.source = random.below(n);
  std::vector<std::size_t> sources, destinations;
  for (std::size_t j = 0; j < n; ++j) {
    sources.push_back(j);
    destinations.push_back(j);
  }
  random.shuffle(sources);
  random.shuffle(destinations);
  for (std::size_t j = random.below(n + 1); j > 0; --j)
    op.pairs.emplace_back(sources[j - 1], destinations[j - 1]);
  return op;
}

template <class T>
lx::View<T> run(lx::DeviceContext& ctx, const Operation& op, lx::ConstView<T> x) {
  const lx::Axes axes{names_of(op.axes)};
  switch (op.kind) {
    case Kind::next: {
      const auto result = ctx.empty_like(x);
      std::ranges::transform(x.values(), result.values().begin(), next<T>);
      return result;
    }
    case Kind::psum:
      if constexpr (has_sum<T>) return ctx.psum(x, axes);
      break;
    case Kind::pmax:
      if constexpr (has_order<T>) return ctx.pmax(x, axes);
      break;
    case Kind::pmin:
      if constexpr (has_order<T>) return ctx.pmin(x, axes);
      break;
    case Kind::psum_scatter:
      if constexpr (has_sum<T>)
        return ctx.psum_scatter(x, axes, {.scatter_dimension = op.from, .tiled = op.tiled});
      break;
    case Kind::all_gather:
      return ctx.all_gather(x, axes, {.axis = op.to, .tiled = op.tiled});
    case Kind::all_to_all:
      return ctx.all_to_all(x, axes,
                            {.split_axis = op.from, .concat_axis = op.to, .tiled = op.tiled});
    case Kind::ppermute: {
      std::vector<lx::PermutePairs::Pair> pairs;
      for (const auto& [source, destination] : op.pairs)
        pairs.push_back(
            {static_cast<std::int64_t>(source), static_cast<std::int64_t>(destination)});
      return ctx.ppermute(x, axes, pairs);
    }
    case Kind::pbroadcast:
      return ctx.pbroadcast(x, axes, static_cast<std::int64_t>(op.source));
  }
  throw std::logic_error("no such operation of such elements");
}

/// A structure of arrays on the mesh and its model, changed by the same random actions.
template <class Host>
class Program {
  using Device = lx::rebind_t<Host, lx::Array>;
  using Specs = lx::rebind_t<Host, lx::SpecOf>;

 public:
  Program(Random& random, ModelMesh model_mesh, const lx::Mesh& mesh, Host host)
      : random_(random), model_mesh_(std::move(model_mesh)), mesh_(mesh), model_(std::move(host)) {
    fill();
    array_ = lx::host_to_global_device_array(model_, random_specs());
  }

  void go(std::size_t actions) {
    for (; actions > 0; --actions) {
      switch (random_.below(4)) {
        case 0:
          array_ = lx::with_sharding_constraint(array_, random_specs());
          break;
        case 1:
          step();
          break;
        case 2:
          change_in_place();
          break;
        default:
          array_ =
              lx::host_to_global_device_array(lx::global_to_host_array(array_), random_specs());
      }
      check();
    }
  }

 private:
  template <class Leaf>
  using element_t = typename lx::structure<std::remove_cvref_t<Leaf>>::element_type;

  void fill() {
    lx::for_each_leaf(
        [&]<class T>(const lx::LeafPath&, HostArray<T>& leaf) {
          leaf = HostArray<T>(random_shape(random_));
          for (std::size_t i = 0; i < leaf.size(); ++i)
            leaf.data()[i] = static_cast<T>(static_cast<float>(random_.below(100)));
        },
        model_);
  }

  /// The leaves' layouts, in order, for each their spec.
  Specs random_specs() {
    layouts_.clear();
    return lx::map_structure<lx::SpecOf>(
        [&]<class T>(const lx::LeafPath&, const HostArray<T>& leaf) {
          layouts_.push_back(random_layout(random_, model_mesh_, leaf.shape()));
          return lx::SpecOf<T>(spec_of(layouts_.back()));
        },
        model_);
  }

  /// Several operations of each leaf on each device; the results of all devices are stacked.
  void step() {
    const Specs in_specs = random_specs();
    std::vector<std::vector<Operation>> operations;
    std::vector<std::size_t> everyone;
    for (std::size_t axis = 0; axis < model_mesh_.sizes.size(); ++axis) everyone.push_back(axis);
    random_.shuffle(everyone);
    const std::size_t length = 1 + random_.below(3);
    model_ = lx::map_structure<lx::HostArray>(
        [&]<class T>(const lx::LeafPath&, const HostArray<T>& leaf) {
          auto parts = split(model_mesh_, leaf, layouts_[operations.size()]);
          auto& chain = operations.emplace_back();
          for (std::size_t i = 0; i < length; ++i) {
            chain.push_back(random_operation<T>(random_, model_mesh_, parts[0].shape()));
            parts = apply(model_mesh_, chain.back(), parts);
          }
          return stack(model_mesh_, parts, everyone);
        },
        model_);
    const auto code = [&](lx::DeviceContext& ctx, const auto& shards) {
      std::size_t leaf = 0;
      return lx::map_structure<lx::View>(
          [&](const lx::LeafPath&, const auto& shard) {
            using T = element_t<decltype(shard)>;
            lx::View<T> x = ctx.empty_like(shard);
            std::ranges::copy(shard.values(), x.values().begin());
            for (const auto& op : operations[leaf]) x = run<T>(ctx, op, x);
            ++leaf;
            Shape stacked{1};
            for (const auto size : x.shape()) stacked.push_back(size);
            return lx::View<T>(x.data(), stacked);
          },
          shards);
    };
    const lx::PartitionSpec out_spec(lx::Axes{names_of(everyone)});
    array_ = lx::shard_map(mesh_, std::tuple<Specs>(in_specs), out_spec, code,
                           {.check_replicas = true})(array_);
    shrink();
  }

  void change_in_place() {
    const Specs specs = random_specs();
    array_ = lx::with_sharding_constraint(array_, specs);
    std::optional<Device> before;
    if (random_.one_in(2)) before = array_;
    const Host old = model_;
    lx::shard_map(mesh_, std::tuple<Specs>(specs), lx::P(),
                  [](lx::DeviceContext&, const auto& shards) {
                    lx::for_each_leaf(
                        [](const lx::LeafPath&, const auto& shard) {
                          for (auto& value : shard.values()) value = next(value);
                        },
                        shards);
                  })(lx::inout(array_));
    lx::for_each_leaf(
        []<class T>(const lx::LeafPath&, HostArray<T>& leaf) {
          for (std::size_t i = 0; i < leaf.size(); ++i) leaf.data()[i] = next(leaf.data()[i]);
        },
        model_);
    if (before && differs(lx::global_to_host_array(*before), old))
      FAIL("inout changed another handle's elements");
  }

  /// A stacked array grows by a dimension: the next step starts from one that is small again.
  void shrink() {
    bool large = false;
    lx::for_each_leaf(
        [&](const lx::LeafPath&, const auto& leaf) {
          large = large || leaf.shape().size() > 5 || leaf.size() > 2000;
        },
        model_);
    if (!large) return;
    check();
    fill();
    array_ = lx::host_to_global_device_array(model_, random_specs());
  }

  /// The path of the first leaf that is not equal, if any.
  static std::optional<std::string> differs(const Host& a, const Host& b) {
    std::optional<std::string> where;
    lx::for_each_leaf(
        [&](const lx::LeafPath& path, const auto& leaf, const auto& other) {
          if (!where && leaf != other)
            where = fmt::format("{}{} and {}", path.prefix(), lx::bracketed(leaf.shape()),
                                lx::bracketed(other.shape()));
        },
        a, b);
    return where;
  }

  void check() const {
    const auto where = differs(lx::global_to_host_array(array_), model_);
    INFO("the array and the model's: " << where.value_or("equal"));
    REQUIRE_FALSE(where);
  }

  Random& random_;
  ModelMesh model_mesh_;
  const lx::Mesh& mesh_;
  Host model_;
  Device array_;
  std::vector<Layout> layouts_;
};

template <class Host>
void run_program(Random& random, const ModelMesh& model, const lx::Mesh& mesh, Host host) {
  Program<Host>(random, model, mesh, std::move(host)).go(1 + random.below(4));
}

}  // namespace

TEMPLATE_TEST_CASE("random programs do what the model does", "[programs]", bool, std::int8_t,
                   std::uint16_t, std::int64_t, lx::bfloat16_t, float, std::complex<float>,
                   std::tuple<>) {
  const auto seed = loadax_test::seed();
  for (std::size_t i = 0; i < scaled(1250); ++i) {
    INFO("LOADAX_TEST_SEED=" << seed << ", program " << i);
    Random random(seed * 1000003 + i);
    const ModelMesh model = random_mesh(random);
    const std::vector<std::int64_t> sizes(model.sizes.begin(), model.sizes.end());
    const auto mesh = mesh_of(lx::MeshShape(sizes),
                              std::vector(names.begin(), names.begin() + std::ssize(sizes)));
    const lx::MeshScope scope{mesh};
    if constexpr (!std::is_same_v<TestType, std::tuple<>>) {
      run_program(random, model, mesh, HostArray<TestType>());
    } else if (random.one_in(2)) {
      std::vector<Layer<lx::HostArray>> layers(random.below(3));
      run_program(random, model, mesh, std::move(layers));
    } else {
      std::map<std::string, HostArray<std::int32_t>> named;
      for (std::size_t k = random.below(3); k > 0; --k) named[fmt::format("key {}", k)] = {};
      run_program(random, model, mesh, std::tuple{HostArray<lx::float16_t>(), std::move(named)});
    }
  }
}
