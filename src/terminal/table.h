// Tables for people: each column is as wide as its widest cell, with two blanks between columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace turnpike {

enum class Paint : std::uint8_t { plain, dim, green, yellow, red, blue, magenta, cyan };

struct TextStyle {
    bool colours = false;
    std::size_t columns = 0;  // width of the terminal; 0 means no limit
};

/// Returns the text, with codes around it that colour it if colours are wanted.
[[nodiscard]] std::string painted(std::string text, Paint paint, TextStyle style);

struct Cell {
    std::string text;  // sanitized; an empty cell is shown as "-"
    Paint paint = Paint::plain;
};

struct Column {
    std::string title;
    enum class Side : std::uint8_t { left, right } side = Side::left;  // right for numbers
    // The column may be cut to this width if the terminal is narrow. 0 means that it is never cut.
    std::size_t width_min = 0;
    // If every row has this text, the column may be left out of a narrow terminal. Empty means
    // never.
    std::string usual = {};
};

struct Table {
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows;  // each row has one cell per column
};

/// Returns the table without the columns in which no row has text.
[[nodiscard]] Table without_empty_columns(const Table& table);

/// Returns the titles and the rows as lines without blanks at their ends. If the terminal is too
/// narrow, columns are cut down to width_min; if that is not enough, `usual` columns are left out,
/// the last one first. Empty if the table has no rows.
[[nodiscard]] std::string text_of(const Table& table, TextStyle style);

}  // namespace turnpike
