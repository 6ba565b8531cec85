// Fully sharded data parallelism: what one device does.
//
// Every device owns a shard of each parameter along the mesh axis "model", and rows of the batch
// that no other device has. A layer is gathered just before it is used and dropped after; its
// gradient, summed over all devices, comes back in shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <loadax/loadax.hpp>

#include "digits/dataset.hpp"
#include "digits/model.hpp"

namespace digits {

/// One spec a leaf: P("model") where the first dimension divides by that axis, else replicated.
template <class Params>
auto fsdp_specs(const Params& params, const lx::Mesh& mesh) {
  const auto devices = static_cast<std::size_t>(mesh.axis_size("model"));
  return lx::map_structure<lx::SpecOf>(
      [&](const auto&, const auto& leaf) {
        return leaf.shape()[0] % devices == 0 ? lx::P("model") : lx::P();
      },
      params);
}

/// A layer in whole, in the arena of the step.
template <class Layer, class Specs>
auto gather(lx::DeviceContext& ctx, const Layer& owned, const Specs& specs) {
  return lx::map_structure<lx::ConstView>(
      [&]<class T>(const auto&, const lx::View<T>& leaf, const lx::PartitionSpec& spec) {
        return lx::ConstView<std::remove_const_t<T>>(
            spec == lx::P() ? leaf : ctx.all_gather(leaf, "model", {.axis = 0, .tiled = true}));
      },
      owned, specs);
}

/// The part that this device owns of a gradient summed over all devices, in the gradient's memory.
template <class T>
lx::View<T> reduce(lx::DeviceContext& ctx, const lx::View<T>& gradient,
                   const lx::PartitionSpec& spec) {
  if (spec == lx::P()) {
    ctx.psum_into(gradient, gradient, lx::axes("data", "model"));
    return gradient;
  }
  lx::Shape shape = gradient.shape();
  shape[0] /= static_cast<std::size_t>(ctx.axis_size("model"));
  const auto index = static_cast<std::size_t>(ctx.axis_index("model"));
  const lx::View<T> owned(gradient.data() + index * lx::element_count(shape), shape);
  ctx.psum_scatter_into(gradient, owned, "model", {.scatter_dimension = 0, .tiled = true});
  ctx.psum_into(owned, owned, "data");
  return owned;
}

/// A training step. Updates what this device owns; returns the mean loss over the global batch.
template <class Real>
class FsdpStep {
 public:
  using Layer = typename Mlp<Real>::template Layer<lx::View>;
  using LayerSpecs = typename Mlp<Real>::template Layer<lx::SpecOf>;
  using Specs = typename Mlp<Real>::template Params<lx::SpecOf>;
  using State = typename Mlp<Real>::template State<lx::View>;

  FsdpStep(const Specs& specs, double lr) : specs_(specs), lr_(lr) {}

  Real operator()(lx::DeviceContext& ctx, const State& state, const auto& batch) const {
    const auto& [params, velocity] = state;
    const auto& images = batch[&Digit<Real>::image];
    const std::size_t rows = images.shape()[0], global_rows = rows * ctx.mesh().size();
    const auto h = ctx.template allocate<Real>({rows, hidden_units});
    const auto dh = ctx.template allocate<Real>({rows, hidden_units});
    const auto logits = ctx.template allocate<Real>({rows, classes});
    {
      lx::ArenaScope scope{ctx};
      dense(images, gather(ctx, params.hidden, specs_.hidden), h);
      relu(h);
    }
    Real loss = 0;
    {
      lx::ArenaScope scope{ctx};
      const auto layer = gather(ctx, params.output, specs_.output);
      dense(h, layer, logits);
      loss = softmax_cross_entropy(logits, batch[&Digit<Real>::label], global_rows);
      dense_input_gradient(logits, layer, dh);
      relu_gradient(h, dh);
    }
    update(ctx, h, logits, params.output, velocity.output, specs_.output);
    update(ctx, images, dh, params.hidden, velocity.hidden, specs_.hidden);
    return ctx.psum(loss, lx::axes("data", "model")) / static_cast<Real>(global_rows);
  }

 private:
  /// Updates the owned part of a layer, from its input and the gradient by its output.
  void update(lx::DeviceContext& ctx, const auto& x, const auto& dy, const Layer& owned,
              const Layer& velocity, const LayerSpecs& specs) const {
    lx::ArenaScope scope{ctx};
    const Layer gradient{.w = ctx.template allocate<Real>({x.shape()[1], dy.shape()[1]}),
                         .b = ctx.template allocate<Real>({dy.shape()[1]})};
    dense_gradient(x, dy, gradient);
    lx::for_each_leaf([&](const auto&, const auto& p, const auto& v, const auto& g,
                          const auto& spec) { sgd(p, v, reduce(ctx, g, spec), lr_); },
                      owned, velocity, gradient, specs);
  }

  Specs specs_;
  double lr_;
};

/// How many samples of a global batch the model classifies correctly. Padding does not count.
template <class Real>
class FsdpCountCorrect {
 public:
  using Specs = typename Mlp<Real>::template Params<lx::SpecOf>;
  using Params = typename Mlp<Real>::template Params<lx::ConstView>;

  explicit FsdpCountCorrect(const Specs& specs) : specs_(specs) {}

  std::int64_t operator()(lx::DeviceContext& ctx, const Params& params, const auto& batch) const {
    const auto& images = batch[&Digit<Real>::image];
    const std::size_t rows = images.shape()[0];
    const auto h = ctx.template allocate<Real>({rows, hidden_units});
    const auto logits = ctx.template allocate<Real>({rows, classes});
    {
      lx::ArenaScope scope{ctx};
      dense(images, gather(ctx, params.hidden, specs_.hidden), h);
      relu(h);
    }
    dense(h, gather(ctx, params.output, specs_.output), logits);
    return ctx.psum(count_correct(logits, batch[&Digit<Real>::label], batch.mask()),
                    lx::axes("data", "model"));
  }

 private:
  Specs specs_;
};

}  // namespace digits
