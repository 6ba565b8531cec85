// The digits MLP on one device, in Eigen and the standard library alone: an independent witness.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace eigen_reference {

struct Task {
  std::string images_file, labels_file;          ///< IDX files
  std::size_t train_rows, hidden, classes;       ///< the first train_rows train, the rest test
  std::size_t batch_size;                        ///< an incomplete last batch is dropped
  double lr, momentum;                           ///< v = momentum v + g; p -= lr v
  std::vector<std::vector<std::size_t>> orders;  ///< one order of the training rows an epoch
  std::vector<double> w1, w2;                    ///< initial weights, row-major; biases start at 0
};

struct Outcome {
  std::vector<double> losses;  ///< mean of the batch losses of each epoch
  double test_accuracy;
};

Outcome train(const Task& task);

}  // namespace eigen_reference
