#include "eigen_reference.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <stdexcept>

#include <Eigen/Dense>

namespace eigen_reference {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Row = Eigen::RowVectorXd;

/// The values of an IDX file of unsigned bytes as [items, values of an item].
Matrix read_idx(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto byte = [&] { return static_cast<std::uint32_t>(file.get()); };
  const auto word = [&] {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | byte();
    return value;
  };
  const std::uint32_t magic = word();
  if (magic >> 8 != 8) throw std::runtime_error(path + " is no IDX file of bytes");
  const std::uint32_t items = word();
  std::uint32_t width = 1;
  for (std::uint32_t d = 1; d < (magic & 0xff); ++d) width *= word();
  Matrix values(items, width);
  for (Eigen::Index i = 0; i < values.size(); ++i) values.data()[i] = static_cast<double>(byte());
  if (!file) throw std::runtime_error(path + " is too short");
  return values;
}

struct Params {
  Matrix w1;
  Row b1;
  Matrix w2;
  Row b2;
};

Matrix hidden_of(const Params& p, const Matrix& x) {
  return ((x * p.w1).rowwise() + p.b1).cwiseMax(0.0);
}

/// The mean cross-entropy and its gradient.
double loss_and_gradient(const Params& p, const Matrix& x, const Matrix& labels, Params& gradient) {
  const Matrix h = hidden_of(p, x);
  Matrix delta = (h * p.w2).rowwise() + p.b2;
  double loss = 0;
  for (Eigen::Index r = 0; r < x.rows(); ++r) {
    const auto label = static_cast<Eigen::Index>(labels(r, 0));
    const double top = delta.row(r).maxCoeff();
    const double log_sum = top + std::log((delta.row(r).array() - top).exp().sum());
    loss += log_sum - delta(r, label);
    delta.row(r) = (delta.row(r).array() - log_sum).exp();
    delta(r, label) -= 1;
  }
  delta /= static_cast<double>(x.rows());
  gradient.w2 = h.transpose() * delta;
  gradient.b2 = delta.colwise().sum();
  const Matrix back =
      ((delta * p.w2.transpose()).array() * (h.array() > 0).cast<double>()).matrix();
  gradient.w1 = x.transpose() * back;
  gradient.b1 = back.colwise().sum();
  return loss / static_cast<double>(x.rows());
}

}  // namespace

Outcome train(const Task& task) {
  const Matrix images = read_idx(task.images_file) / 16.0;
  const Matrix labels = read_idx(task.labels_file);
  const auto inputs = images.cols();
  const auto hidden = static_cast<Eigen::Index>(task.hidden);
  const auto classes = static_cast<Eigen::Index>(task.classes);
  const auto rows = static_cast<Eigen::Index>(task.batch_size);

  Params p{Eigen::Map<const Matrix>(task.w1.data(), inputs, hidden), Row::Zero(hidden),
           Eigen::Map<const Matrix>(task.w2.data(), hidden, classes), Row::Zero(classes)};
  Params velocity{Matrix::Zero(inputs, hidden), Row::Zero(hidden), Matrix::Zero(hidden, classes),
                  Row::Zero(classes)};
  Params gradient;
  const auto update = [&](auto& value, auto& v, const auto& g) {
    v = task.momentum * v + g;
    value -= task.lr * v;
  };

  Outcome outcome{};
  for (const auto& order : task.orders) {
    double sum = 0;
    const std::size_t batches = order.size() / task.batch_size;
    for (std::size_t b = 0; b < batches; ++b) {
      Matrix x(rows, inputs), y(rows, 1);
      for (Eigen::Index r = 0; r < rows; ++r) {
        const auto from = static_cast<Eigen::Index>(order[b * task.batch_size + std::size_t(r)]);
        x.row(r) = images.row(from);
        y.row(r) = labels.row(from);
      }
      sum += loss_and_gradient(p, x, y, gradient);
      update(p.w1, velocity.w1, gradient.w1);
      update(p.b1, velocity.b1, gradient.b1);
      update(p.w2, velocity.w2, gradient.w2);
      update(p.b2, velocity.b2, gradient.b2);
    }
    outcome.losses.push_back(sum / static_cast<double>(batches));
  }

  const Eigen::Index first = static_cast<Eigen::Index>(task.train_rows);
  const Matrix logits =
      (hidden_of(p, images.bottomRows(images.rows() - first)) * p.w2).rowwise() + p.b2;
  Eigen::Index correct = 0;
  for (Eigen::Index r = 0; r < logits.rows(); ++r) {
    Eigen::Index best = 0;
    logits.row(r).maxCoeff(&best);
    correct += best == static_cast<Eigen::Index>(labels(first + r, 0));
  }
  outcome.test_accuracy = static_cast<double>(correct) / static_cast<double>(logits.rows());
  return outcome;
}

}  // namespace eigen_reference
