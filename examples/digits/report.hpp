// What the digits examples print.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <unistd.h>

#include <fmt/core.h>

#include <loadax/loadax.hpp>

namespace digits {

namespace lx = loadax;

inline bool stdout_is_terminal() { return isatty(STDOUT_FILENO) == 1; }

inline void print_mesh(const lx::Mesh& mesh) {
  fmt::print("{}\n", lx::show(mesh, {.color = stdout_is_terminal()}));
}

inline void print_sharding(const char* what, const lx::Shape& shape,
                           const lx::NamedSharding& sharding) {
  fmt::print("{} {} over {}:\n{}\n", what, lx::bracketed(shape), to_string(sharding.spec()),
             lx::show(sharding, shape, {.color = stdout_is_terminal()}));
}

/// What a structure of arrays takes on each device, beside one whole copy.
template <lx::ArrayStructure S>
void print_footprint(const char* what, const S& arrays) {
  std::size_t device = 0, whole = 0;
  lx::for_each_leaf(
      [&](const auto&, const auto& array) {
        device += array.addressable_shards()[0].buffer->bytes();
        whole += lx::element_count(array.shape()) * sizeof(array.addressable_shards()[0].data[0]);
      },
      arrays);
  fmt::print("{}: {} bytes on each device, {} bytes unsharded ({:.1f} %)\n", what, device, whole,
             100.0 * static_cast<double>(device) / static_cast<double>(whole));
}

/// "(data=1, model=8)"
inline std::string axis_sizes(const lx::Mesh& mesh) {
  std::string text = "(";
  for (const auto& name : mesh.axis_names()) {
    if (text.size() > 1) text += ", ";
    text += fmt::format("{}={}", name, mesh.axis_size(name));
  }
  return text + ")";
}

}  // namespace digits
