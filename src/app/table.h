// Columns for the eye: as wide as their widest cell, two blanks between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace turnpike {

enum class Paint : std::uint8_t { plain, dim, green, yellow, red, blue, magenta, cyan };

struct Look {
    bool colours = false;
};

/// The text, between the codes that colour it, if colours are wanted.
[[nodiscard]] std::string painted(std::string text, Paint paint, Look look);

struct Cell {
    std::string text;  // tamed; "" is shown as "-"
    Paint paint = Paint::plain;
};

struct Column {
    std::string title;
    enum class Side : std::uint8_t { left, right } side = Side::left;  // numbers: right
};

struct Table {
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows;  // each as long as columns
};

/// Without the columns in which no row has text.
[[nodiscard]] Table without_empty_columns(const Table& table);

/// Lines, the titles first, without blanks at their ends. No rows: nothing at all.
[[nodiscard]] std::string text_of(const Table& table, Look look);

}  // namespace turnpike
