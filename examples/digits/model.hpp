// The model of the digits examples, 64 pixels -> 128 hidden units (ReLU) -> 10 classes, and its
// mathematics on one device. `Real` is float in the examples and double in their tests.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <Eigen/Core>

#include <loadax/array/host_array.hpp>
#include <loadax/array/view.hpp>
#include <loadax/core/random.hpp>

namespace digits {

namespace lx = loadax;

inline constexpr std::size_t pixels = 64, hidden_units = 128, classes = 10;
inline constexpr double momentum = 0.9;

template <class Real>
struct Mlp {
  /// y = x w + b: w [inputs, outputs], b [outputs].
  template <template <class> class Leaf>
  struct Layer {
    Leaf<Real> w, b;
  };
  template <template <class> class Leaf>
  struct Params {
    Layer<Leaf> hidden, output;
  };
  /// What training keeps between steps.
  template <template <class> class Leaf>
  struct State {
    Params<Leaf> params, velocity;
  };
};

/// Biases are zero, weights uniform in +-sqrt(6 / (inputs + outputs)) (Glorot, Bengio 2010):
/// element i of a weight is made of the i-th uniform number of (seed, number of the leaf).
template <class Real>
typename Mlp<Real>::template State<lx::HostArray> initial_state(std::uint64_t seed) {
  using Array = lx::HostArray<Real>;
  using Layer = typename Mlp<Real>::template Layer<lx::HostArray>;
  const auto zeros = [](std::size_t in, std::size_t out) {
    return Layer{.w = Array({in, out}), .b = Array(lx::Shape{out})};
  };
  const auto glorot = [&](std::size_t in, std::size_t out, std::uint64_t leaf) {
    lx::CounterRandom random{seed, lx::RandomStream::user, 0, leaf};
    const double limit = std::sqrt(6.0 / static_cast<double>(in + out));
    Layer layer = zeros(in, out);
    for (Real& w : layer.w.values()) w = static_cast<Real>((2 * random.uniform() - 1) * limit);
    return layer;
  };
  return {
      .params = {.hidden = glorot(pixels, hidden_units, 0),
                 .output = glorot(hidden_units, classes, 2)},
      .velocity = {.hidden = zeros(pixels, hidden_units), .output = zeros(hidden_units, classes)}};
}

/// A view as an Eigen matrix; a vector is one row.
template <class T>
auto matrix(const lx::View<T>& view) {
  using Matrix =
      Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto columns = static_cast<Eigen::Index>(view.shape().back());
  const auto rows = columns == 0 ? 0 : static_cast<Eigen::Index>(view.size()) / columns;
  return Eigen::Map<std::conditional_t<std::is_const_v<T>, const Matrix, Matrix>>(view.data(), rows,
                                                                                  columns);
}

/// y = x w + b.
void dense(const auto& x, const auto& layer, const auto& y) {
  matrix(y).noalias() = matrix(x) * matrix(layer.w);
  matrix(y).rowwise() += matrix(layer.b).row(0);
}

/// The gradient of y = x w + b by w and b, from that by y.
void dense_gradient(const auto& x, const auto& dy, const auto& gradient) {
  matrix(gradient.w).noalias() = matrix(x).transpose() * matrix(dy);
  matrix(gradient.b) = matrix(dy).colwise().sum();
}

/// The gradient of y = x w + b by x, from that by y.
void dense_input_gradient(const auto& dy, const auto& layer, const auto& dx) {
  matrix(dx).noalias() = matrix(dy) * matrix(layer.w).transpose();
}

template <class T>
void relu(const lx::View<T>& x) {
  matrix(x) = matrix(x).cwiseMax(T{0});
}

/// Makes the gradient by y = relu(x) that by x.
template <class T>
void relu_gradient(const lx::View<T>& y, const lx::View<T>& gradient) {
  matrix(gradient).array() *= (matrix(y).array() > 0).template cast<T>();
}

/// The cross-entropy of softmax(logits), summed over rows; `logits` becomes its gradient divided
/// by `rows_in_mean`.
template <class T>
T softmax_cross_entropy(const lx::View<T>& logits, const auto& labels, std::size_t rows_in_mean) {
  auto z = matrix(logits);
  T loss = 0;
  for (Eigen::Index r = 0; r < z.rows(); ++r) {
    auto row = z.row(r);
    const auto label = static_cast<Eigen::Index>(labels.data()[r]);
    const T top = row.maxCoeff();
    const T log_sum = top + std::log((row.array() - top).exp().sum());
    loss += log_sum - row(label);
    row = (row.array() - log_sum).exp();
    row(label) -= 1;
  }
  z /= static_cast<T>(rows_in_mean);
  return loss;
}

/// How many rows that count have their largest logit at their label.
std::int64_t count_correct(const auto& logits, const auto& labels, const auto& counts) {
  const auto z = matrix(logits);
  std::int64_t correct = 0;
  for (Eigen::Index r = 0; r < z.rows(); ++r) {
    Eigen::Index best = 0;
    z.row(r).maxCoeff(&best);
    correct += counts.data()[r] && best == labels.data()[r];
  }
  return correct;
}

/// SGD with momentum: v = momentum v + gradient; p -= lr v.
template <class T>
void sgd(const lx::View<T>& p, const lx::View<T>& v, const auto& gradient, double lr) {
  matrix(v) = static_cast<T>(momentum) * matrix(v) + matrix(gradient);
  matrix(p) -= static_cast<T>(lr) * matrix(v);
}

}  // namespace digits
