// The handwritten digits in examples/data: the first 1,500 train, the other 297 test.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/data/simple_dataset.hpp>
#include <loadax/format/idx.hpp>

#include "digits/model.hpp"

namespace digits {

inline constexpr std::size_t train_size = 1500;

/// As it stands in the file: pixels from 0 to 16.
struct Scan {
  std::array<std::uint8_t, pixels> image;
  std::uint8_t label;
};

/// As the model takes it: pixels from 0 to 1.
template <class Real>
struct Digit {
  std::array<Real, pixels> image;
  int label;
};

template <class Real>
Digit<Real> normalise(const Scan& scan) {
  Digit<Real> digit{.image = {}, .label = scan.label};
  std::ranges::transform(scan.image, digit.image.begin(),
                         [](std::uint8_t pixel) { return static_cast<Real>(pixel) / 16; });
  return digit;
}

inline lx::SimpleDataset<Scan> read_scans(const std::string& folder) {
  const auto images = lx::read_idx<std::uint8_t>(folder + "/digits-images.idx3-ubyte");
  const auto labels = lx::read_idx<std::uint8_t>(folder + "/digits-labels.idx1-ubyte");
  const std::size_t count = labels.size();
  if (images.shape() != lx::Shape{count, 8, 8} || count <= train_size)
    throw lx::ArgumentError(
        fmt::format("{}: images {} and labels {}", folder, lx::bracketed(images.shape()),
                    lx::bracketed(labels.shape())),
        fmt::format("the images are [n, 8, 8], the labels [n], with n > {}", train_size));
  std::vector<Scan> scans(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::ranges::copy(images.values().subspan(i * pixels, pixels), scans[i].image.begin());
    scans[i].label = labels.values()[i];
    if (scans[i].label >= classes)
      throw lx::ArgumentError(fmt::format("{}: label {} of sample {}", folder, scans[i].label, i),
                              fmt::format("labels are the digits 0 to {}", classes - 1));
  }
  return lx::SimpleDataset<Scan>(std::move(scans));
}

/// In another order in each epoch.
template <class Real>
auto train_set(const lx::SimpleDataset<Scan>& scans, std::uint64_t seed) {
  return scans.slice(0, train_size).shuffle(seed).map(normalise<Real>);
}

template <class Real>
auto test_set(const lx::SimpleDataset<Scan>& scans) {
  return scans.slice(train_size, scans.size()).map(normalise<Real>);
}

}  // namespace digits
