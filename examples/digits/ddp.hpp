// Distributed data parallelism: what one device does.
//
// Every device has all parameters, and rows of the batch that no other device has. Gradients are
// averaged over the mesh axis "data", so that all copies stay the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include <loadax/loadax.hpp>

#include "digits/dataset.hpp"
#include "digits/model.hpp"

namespace digits {

/// A training step. Updates this device's copy; returns the mean loss over the global batch.
template <class Real>
class DdpStep {
 public:
  using State = typename Mlp<Real>::template State<lx::View>;

  explicit DdpStep(double lr) : lr_(lr) {}

  Real operator()(lx::DeviceContext& ctx, const State& state, const auto& batch) const {
    const auto& [params, velocity] = state;
    const auto& images = batch[&Digit<Real>::image];
    const std::size_t rows = images.shape()[0];
    const auto h = ctx.template allocate<Real>({rows, hidden_units});
    const auto dh = ctx.template allocate<Real>({rows, hidden_units});
    const auto logits = ctx.template allocate<Real>({rows, classes});
    const auto gradient = ctx.empty_like(params);

    dense(images, params.hidden, h);
    relu(h);
    dense(h, params.output, logits);
    const Real loss = softmax_cross_entropy(logits, batch[&Digit<Real>::label], rows);
    dense_gradient(h, logits, gradient.output);
    dense_input_gradient(logits, params.output, dh);
    relu_gradient(h, dh);
    dense_gradient(images, dh, gradient.hidden);

    const auto mean = ctx.pmean(gradient, "data");
    lx::for_each_leaf(
        [&](const auto&, const auto& p, const auto& v, const auto& g) { sgd(p, v, g, lr_); },
        params, velocity, mean);
    return ctx.pmean(loss / static_cast<Real>(rows), "data");
  }

 private:
  double lr_;
};

/// How many samples of a global batch the model classifies correctly. Padding does not count.
template <class Real>
struct DdpCountCorrect {
  using Params = typename Mlp<Real>::template Params<lx::ConstView>;

  std::int64_t operator()(lx::DeviceContext& ctx, const Params& params, const auto& batch) const {
    const auto& images = batch[&Digit<Real>::image];
    const std::size_t rows = images.shape()[0];
    const auto h = ctx.template allocate<Real>({rows, hidden_units});
    const auto logits = ctx.template allocate<Real>({rows, classes});
    dense(images, params.hidden, h);
    relu(h);
    dense(h, params.output, logits);
    return ctx.psum(count_correct(logits, batch[&Digit<Real>::label], batch.mask()), "data");
  }
};

}  // namespace digits
