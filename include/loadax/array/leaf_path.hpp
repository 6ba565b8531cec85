// Where a leaf stands in a structure of arrays, for messages and names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace loadax {
inline namespace v0 {

/// The way from a structure's root to one of its parts, as in "layers[0].w1". Each step refers to
/// the one before, so a path lives only as long as the walk that made it; text is made on request.
class LeafPath {
 public:
  /// The root.
  LeafPath() = default;
  /// A field of an aggregate or an entry of a map.
  LeafPath(const LeafPath& parent, std::string_view name) : parent_(&parent), name_(name) {}
  /// An element of a tuple or a vector.
  LeafPath(const LeafPath& parent, std::size_t index) : parent_(&parent), index_(index) {}

  /// "layers[0].w1"; "" for the root.
  std::string str() const {
    if (parent_ == nullptr) return {};
    std::string text = parent_->str();
    if (name_.data() == nullptr) return text + fmt::format("[{}]", index_);
    if (!text.empty()) text += '.';
    return text.append(name_);
  }

  /// "leaf 'layers[0].w1': ", or nothing for an array that stands alone: how messages begin.
  std::string prefix() const {
    return parent_ == nullptr ? std::string() : fmt::format("leaf '{}': ", str());
  }

 private:
  const LeafPath* parent_ = nullptr;
  std::string_view name_;
  std::size_t index_ = 0;
};

}  // namespace v0
}  // namespace loadax
