// Columns for the eye: as wide as their widest cell, two blanks between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace turnpike {

enum class Paint : std::uint8_t { plain, dim, green, yellow, red, blue, magenta, cyan };

struct TextStyle {
    bool colours = false;
    std::size_t columns = 0;  // of the terminal; 0: as many as it takes
};

/// The text, between the codes that colour it, if colours are wanted.
[[nodiscard]] std::string painted(std::string text, Paint paint, TextStyle style);

struct Cell {
    std::string text;  // tamed; "" is shown as "-"
    Paint paint = Paint::plain;
};

struct Column {
    std::string title;
    enum class Side : std::uint8_t { left, right } side = Side::left;  // numbers: right
    std::size_t width_min =
        0;                   // to which it may be cut where the terminal is narrow; 0: it may not
    std::string usual = {};  // left out there, if no row has anything else; empty: never
};

struct Table {
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows;  // each as long as columns
};

/// Without the columns in which no row has text.
[[nodiscard]] Table without_empty_columns(const Table& table);

/// Lines, the titles first, without blanks at their ends; no wider than the terminal, as far as
/// columns may be cut or, if that is not enough, left out, the last one first. No rows: nothing at all.
[[nodiscard]] std::string text_of(const Table& table, TextStyle style);

}  // namespace turnpike
