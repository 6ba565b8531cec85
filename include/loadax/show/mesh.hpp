// Pictures of a mesh.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/device/device.hpp>
#include <loadax/mesh/mesh.hpp>
#include <loadax/show/table.hpp>

namespace loadax {
inline namespace v0 {

namespace detail {

/// One plane of a mesh: `rows` x `columns` devices from position `first` on.
inline std::string show_plane(const Mesh& mesh, std::size_t first, std::size_t rows,
                              std::size_t columns, std::size_t digits,
                              const PictureOptions& options) {
  const auto devices = mesh.devices();
  std::string_view row_name, column_name;
  if (mesh.rank() > 1) row_name = mesh.axis_names()[mesh.rank() - 2];
  if (mesh.rank() > 0) column_name = mesh.axis_names()[mesh.rank() - 1];
  const std::size_t margin = row_name.empty() ? 0 : text_width(row_name) + 1;

  const std::size_t width = digits + 2;
  const std::size_t room = options.max_width - std::min(options.max_width, margin + 1);

  Table table;
  const auto shown_columns = shown(columns, room / (width + 1));
  table.widths.assign(shown_columns.size(), width);
  for (const std::size_t r : shown(rows, options.max_rows)) {
    auto& cells = table.rows.emplace_back();
    for (const std::size_t c : shown_columns)
      if (r == left_out || c == left_out)
        cells.push_back({{r == left_out ? "⋮" : "…"}});
      else {
        const Device& device = devices[first + r * columns + c];
        cells.push_back({{fmt::format("{:>{}}", device.id, digits)},
                         static_cast<std::size_t>(device.node_index)});
      }
  }
  table.heights.assign(table.rows.size(), 1);

  const auto lines = draw(table, options.color);
  std::string text;
  if (!column_name.empty()) {
    text = std::string(margin, ' ') + centered(column_name, 1 + shown_columns.size() * (width + 1));
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += (i == lines.size() / 2 && margin > 0 ? std::string(row_name) + " "
                                                 : std::string(margin, ' ')) +
            lines[i] + "\n";
  return text;
}

}  // namespace detail

/// A mesh as a table of device ids: its last axis runs to the right, the one before down, and there
/// is a table for each place along the others. With colour, a colour for each node. Ends in a line
/// end.
/// @complexity O(devices): to find the widest id; the text is bounded by the options
inline std::string show(const Mesh& mesh, const PictureOptions& options = {}) {
  const std::size_t rank = mesh.rank();
  const auto columns = rank > 0 ? static_cast<std::size_t>(mesh.shape()[rank - 1]) : 1;
  const auto rows = rank > 1 ? static_cast<std::size_t>(mesh.shape()[rank - 2]) : 1;
  const std::size_t planes = mesh.size() / (rows * columns);
  std::int32_t largest = 0;
  for (const Device& device : mesh.devices()) largest = std::max(largest, device.id);
  const std::size_t digits = std::to_string(largest).size();

  std::string text = fmt::format("{}: {} {} device{}\n", to_string(mesh), mesh.size(),
                                 name(mesh.devices()[0].platform), mesh.size() == 1 ? "" : "s");
  for (const std::size_t plane : detail::shown(planes, options.max_rows)) {
    if (plane == detail::left_out) {
      text += "⋮\n";
      continue;
    }
    const std::size_t first = plane * rows * columns;
    std::string where;
    for (std::size_t k = 0; k + 2 < rank; ++k)
      where +=
          fmt::format("{}{}={}", k ? ", " : "", mesh.axis_names()[k], mesh.coordinate(first, k));
    if (!where.empty()) text += where + "\n";
    text += detail::show_plane(mesh, first, rows, columns, digits, options);
  }
  return text;
}

}  // namespace v0
}  // namespace loadax
