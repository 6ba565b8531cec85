// A picture of how an array is laid out over devices.
#pragma once

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <loadax/core/error.hpp>
#include <loadax/core/shape.hpp>
#include <loadax/device/device.hpp>
#include <loadax/sharding/named_sharding.hpp>
#include <loadax/show/table.hpp>

namespace loadax {
inline namespace v0 {

namespace detail {

/// "CPU 0,2,4,6", the ids ascending; the middle of a long list is left out.
inline std::string devices_entry(Platform platform, std::vector<std::int32_t> ids) {
  std::ranges::sort(ids);
  std::string text(name(platform));
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  constexpr std::size_t most_ids = 64;
  std::string_view before = " ";
  for (const std::size_t i : shown(ids.size(), most_ids)) {
    text += before;
    text += i == left_out ? "…" : fmt::format("{}", ids[i]);
    before = ",";
  }
  return text;
}

/// Breaks text after commas into lines of at most `width` columns, where that can be.
inline std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines{""};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size() - 1);
    const std::string piece = text.substr(at, comma + 1 - at);
    if (!lines.back().empty() && text_width(lines.back()) + text_width(piece) > width)
      lines.emplace_back();
    lines.back() += piece;
    at = comma + 1;
  }
  return lines;
}

inline std::size_t widest(const std::vector<std::string>& lines) {
  std::size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, text_width(line));
  return width;
}

struct BoxSize {
  std::size_t width, height;
};

/// The inside of JAX's boxes: an array is 10 lines high (1 where it is flat) and 2.5 columns wide
/// for each line that it would be high; a box is 9 to 80 columns wide, 2 of which are its edges.
inline BoxSize box_size(const Shape& shape, std::size_t rows, std::size_t columns) {
  constexpr double array_height = 10, columns_per_line = 2.5, narrowest = 9, widest = 80;
  const bool flat = shape.size() == 1;
  const double aspect = (flat ? 1.0 : static_cast<double>(shape[1])) /
                        static_cast<double>(std::max<std::size_t>(shape[0], 1));
  const double width =
      std::floor(array_height * aspect) * columns_per_line / static_cast<double>(columns);
  const double height = flat ? 1 : array_height / static_cast<double>(rows);
  return {static_cast<std::size_t>(std::clamp(width, narrowest, widest)) - 2,
          height >= 3 ? static_cast<std::size_t>(height) - 1 : 1};
}

}  // namespace detail

/// How an array of rank 1 or 2 is laid out: one box for each distinct shard, which names the
/// devices that hold it. Boxes have the proportions of JAX's visualize_sharding; where they would
/// be wider than `max_width` they are narrowed, then left out of the middle. Ends in a line end.
/// @throws ArgumentError for another rank, and as NamedSharding::check
/// @complexity O(n log n) for n devices
inline std::string show(const NamedSharding& sharding, const Shape& shape,
                        const PictureOptions& options = {}) {
  if (shape.size() != 1 && shape.size() != 2)
    throw ArgumentError(
        fmt::format("a picture of the array {} of {} dimensions", bracketed(shape), shape.size()),
        "only arrays of 1 or 2 dimensions can be drawn");
  sharding.check(shape);
  const bool flat = shape.size() == 1;
  const std::size_t columns = sharding.factor(flat ? 0 : 1);
  const std::size_t rows = flat ? 1 : sharding.factor(0);

  std::vector<std::vector<std::int32_t>> holders(rows * columns);
  const auto devices = sharding.mesh().devices();
  for (std::size_t i = 0; i < devices.size(); ++i)
    holders[sharding.shard_number_at(i)].push_back(devices[i].id);

  const auto wanted = detail::box_size(shape, rows, columns);

  // Columns as wide as they want where all fit, else of equal width, else only some of them.
  std::vector<std::string> entries;
  std::vector<std::size_t> natural(columns, wanted.width);
  std::size_t narrowest = 0;
  for (const auto& ids : holders) {
    std::size_t& width = natural[entries.size() % columns];
    entries.push_back(detail::devices_entry(devices[0].platform, ids));
    width = std::max(width, detail::text_width(entries.back()));
    narrowest = std::max(narrowest, detail::widest(detail::wrapped(entries.back(), 1)));
  }
  const std::size_t room = std::max<std::size_t>(options.max_width, 12) - 1;
  const bool fits = std::accumulate(natural.begin(), natural.end(), columns) <= room;
  const std::size_t equal = std::max(room / columns, std::size_t{2}) - 1;
  const std::size_t most = fits ? room - 1 : std::max(equal, std::min(narrowest, room - 1));
  const auto shown_columns = detail::shown(columns, fits ? columns : room / (most + 1));
  const auto shown_rows = detail::shown(rows, options.max_rows);

  detail::Table table;
  for (const std::size_t r : shown_rows) {
    auto& cells = table.rows.emplace_back();
    std::size_t lines = r == detail::left_out ? 1 : wanted.height;
    for (const std::size_t c : shown_columns) {
      if (r == detail::left_out || c == detail::left_out)
        cells.push_back({{r == detail::left_out ? "⋮" : "…"}, 0});
      else
        cells.push_back({detail::wrapped(entries[r * columns + c], most), r * columns + c});
      lines = std::max(lines, cells.back().lines.size());
    }
    table.heights.push_back(lines);
  }
  for (std::size_t c = 0; c < shown_columns.size(); ++c) {
    std::size_t width = shown_columns[c] == detail::left_out ? 3 : std::min(wanted.width, most);
    for (const auto& row : table.rows) width = std::max(width, detail::widest(row[c].lines));
    table.widths.push_back(width);
  }
  std::string text;
  for (const std::string& line : detail::draw(table, options.color)) text += line + "\n";
  return text;
}

}  // namespace v0
}  // namespace loadax
