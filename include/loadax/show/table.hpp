// Text tables with box-drawing characters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

namespace loadax {
inline namespace v0 {

/// How pictures are drawn.
struct PictureOptions {
  /// Cells on coloured ground, by ANSI escapes: for a terminal.
  bool color = false;
  /// Columns of text that a picture may take; what does not fit is left out of its middle.
  std::size_t max_width = 80;
  /// Rows of boxes, in the same way.
  std::size_t max_rows = 64;
};

namespace detail {

/// Columns that UTF-8 text takes, for text without wide or combining characters.
inline std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Text in the middle of `width` columns.
inline std::string centered(std::string_view text, std::size_t width) {
  const std::size_t spare = width - std::min(width, text_width(text));
  return std::string(spare / 2, ' ') + std::string(text) + std::string(spare - spare / 2, ' ');
}

/// One box of a table: lines of text in its middle, and the number of its colour.
struct Cell {
  std::vector<std::string> lines;
  std::size_t color = 0;
};

/// Boxes of a table; `widths` of the columns and `heights` of the rows are those inside the boxes.
struct Table {
  std::vector<std::vector<Cell>> rows;
  std::vector<std::size_t> widths, heights;
};

/// Dark and light grounds with a foreground that can be read on each (256-colour palette).
inline std::string colored(std::string_view text, std::size_t color) {
  constexpr int grounds[] = {25, 130, 28, 88, 97, 94, 31, 66, 60, 100};
  return fmt::format("\x1b[97;48;5;{}m{}\x1b[0m", grounds[color % std::size(grounds)], text);
}

inline std::string rule(const std::vector<std::size_t>& widths, std::string_view left,
                        std::string_view middle, std::string_view right) {
  std::string line(left);
  for (std::size_t c = 0; c < widths.size(); ++c) {
    if (c > 0) line += middle;
    for (std::size_t i = 0; i < widths[c]; ++i) line += "─";
  }
  return line.append(right);
}

/// The table's lines, without line ends.
inline std::vector<std::string> draw(const Table& table, bool color) {
  std::vector<std::string> lines{rule(table.widths, "┌", "┬", "┐")};
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (r > 0) lines.push_back(rule(table.widths, "├", "┼", "┤"));
    for (std::size_t h = 0; h < table.heights[r]; ++h) {
      std::string line = "│";
      for (std::size_t c = 0; c < table.widths.size(); ++c) {
        const Cell& cell = table.rows[r][c];
        const std::size_t above =
            (table.heights[r] - std::min(table.heights[r], cell.lines.size())) / 2;
        const bool has_text = h >= above && h - above < cell.lines.size();
        const std::string text =
            centered(has_text ? cell.lines[h - above] : std::string(), table.widths[c]);
        line += (color ? colored(text, cell.color) : text) + "│";
      }
      lines.push_back(std::move(line));
    }
  }
  lines.push_back(rule(table.widths, "└", "┴", "┘"));
  return lines;
}

/// Marks what was left out of a list.
inline constexpr std::size_t left_out = static_cast<std::size_t>(-1);

/// 0, 1, ..., count - 1; where more than `most` (at least 3), with `left_out` for the middle.
inline std::vector<std::size_t> shown(std::size_t count, std::size_t most) {
  std::vector<std::size_t> indices;
  most = std::max<std::size_t>(most, 3);
  const std::size_t tail = count <= most ? 0 : (most - 1) / 2;
  const std::size_t head = count <= most ? count : most - 1 - tail;
  for (std::size_t i = 0; i < head; ++i) indices.push_back(i);
  if (count > most) indices.push_back(left_out);
  for (std::size_t i = count - tail; i < count; ++i) indices.push_back(i);
  return indices;
}

}  // namespace detail

}  // namespace v0
}  // namespace loadax
