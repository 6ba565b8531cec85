// Datasets to start from: samples in memory, and a type of the user's own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <loadax/data/dataset.hpp>
#include <loadax/data/transforms.hpp>

namespace loadax {
inline namespace v0 {

/// Samples in memory. Copies share them.
template <class Example>
class SimpleDataset : public Transforms<SimpleDataset<Example>> {
 public:
  explicit SimpleDataset(std::vector<Example> examples)
      : examples_(std::make_shared<const std::vector<Example>>(std::move(examples))) {}

  std::size_t size() const noexcept { return examples_->size(); }
  /// @throws IndexError where there is no sample i
  typename std::vector<Example>::const_reference operator[](std::size_t i) const {
    if (i >= size()) detail::throw_no_sample("SimpleDataset", i, size());
    return (*examples_)[i];
  }

  template <class Visitor>
  void visit(std::size_t first, std::size_t count, Visitor&& visitor) const {
    detail::check_samples("SimpleDataset", first, count, size());
    for (std::size_t i = 0; i < count; ++i) {
      if (!visitor((*examples_)[first + i])) return;
    }
  }

  void prefetch(std::size_t i) const noexcept {
    if constexpr (requires { examples_->data(); }) {
      constexpr std::size_t line = 64, most = 2048;
      const char* bytes = reinterpret_cast<const char*>(examples_->data() + i);
      for (std::size_t at = 0; at < std::min(sizeof(Example), most); at += line)
        __builtin_prefetch(bytes + at);
    }
  }

 private:
  std::shared_ptr<const std::vector<Example>> examples_;
};

/// A dataset of the user's own type, shared between copies, with the transforms.
template <Dataset D>
class SharedDataset : public Transforms<SharedDataset<D>> {
 public:
  explicit SharedDataset(D dataset) : dataset_(std::make_shared<const D>(std::move(dataset))) {}

  std::size_t size() const { return dataset_->size(); }
  decltype(auto) operator[](std::size_t i) const { return (*dataset_)[i]; }

  auto for_epoch(std::uint64_t epoch) const
    requires EpochDependent<D>
  {
    return SharedDataset<detail::epoch_view_t<D>>(dataset_->for_epoch(epoch), dataset_);
  }

  template <class Visitor>
  void visit(std::size_t first, std::size_t count, Visitor&& visitor) const {
    detail::visit(*dataset_, first, count, visitor);
  }

  template <class Row>
  void read_into(std::size_t i, const Row& row) const
    requires requires(const D& dataset) { dataset.read_into(i, row); }
  {
    dataset_->read_into(i, row);
  }

  void prefetch(std::size_t i) const noexcept { detail::prefetch(*dataset_, i); }

 private:
  template <Dataset>
  friend class SharedDataset;
  /// An epoch's view, which may refer to the dataset that it was made from.
  SharedDataset(D view, std::shared_ptr<const void> owner) : owner_(std::move(owner)) {
    dataset_ = std::make_shared<const D>(std::move(view));
  }

  std::shared_ptr<const void> owner_;
  std::shared_ptr<const D> dataset_;
};

/// Gives the transforms to any dataset: `lx::dataset(mine).shuffle(7).map(f)`.
template <Dataset D>
SharedDataset<D> dataset(D mine) {
  return SharedDataset<D>(std::move(mine));
}
template <class D>
SimpleDataset<int> dataset(D mine)
    __attribute__((unavailable("loadax: this is no dataset: give it `size() const` and "
                               "`operator[](std::size_t) const`, which returns a sample")));

}  // namespace v0
}  // namespace loadax
