#include "terminal/table.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "terminal/safe_text.h"

namespace turnpike {
namespace {

std::string_view code_of(Paint paint) {
    switch (paint) {
        case Paint::plain: return "";
        case Paint::dim: return "\x1b[2m";
        case Paint::green: return "\x1b[32m";
        case Paint::yellow: return "\x1b[33m";
        case Paint::red: return "\x1b[31m";
        case Paint::blue: return "\x1b[34m";
        case Paint::magenta: return "\x1b[35m";
        case Paint::cyan: return "\x1b[36m";
    }
    return "";
}

std::vector<std::size_t> widths_of(const Table& table) {
    std::vector<std::size_t> widths;
    for (const Column& column : table.columns) widths.push_back(column.title.size());
    for (const auto& row : table.rows) {
        CHECK(row.size() == widths.size());
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max({widths[i], columns_of(row[i].text), std::size_t{1}});
    }
    return widths;
}

std::size_t sum_of(const std::vector<std::size_t>& widths) {
    constexpr std::size_t gap = 2;
    return std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1));
}

/// Returns the table's width if every column is cut as far as it may be.
std::size_t narrowest(const Table& table) {
    std::vector<std::size_t> widths = widths_of(table);
    for (std::size_t i = 0; i < widths.size(); ++i)
        if (const std::size_t least = table.columns[i].width_min; least > 0)
            widths[i] = std::min(widths[i], least);
    return sum_of(widths);
}

bool is_usual(const Table& table, std::size_t column) {
    const std::string& usual = table.columns[column].usual;
    return !usual.empty() && std::ranges::all_of(table.rows, [&](const std::vector<Cell>& row) {
        return row[column].text == usual;
    });
}

/// Leaves out columns in which every row has the usual text, until cutting the rest is enough.
Table without_usual_columns(Table table, std::size_t columns) {
    for (std::size_t i = table.columns.size(); i-- > 0 && narrowest(table) > columns;) {
        if (!is_usual(table, i)) continue;
        const auto at = static_cast<std::ptrdiff_t>(i);
        table.columns.erase(table.columns.begin() + at);
        for (auto& row : table.rows) row.erase(row.begin() + at);
    }
    return table;
}

/// Cuts the widest column that may be cut, again and again, until all fit.
void narrow(std::vector<std::size_t>& widths, const Table& table, std::size_t columns) {
    for (std::size_t taken = sum_of(widths); taken > columns; --taken) {
        std::optional<std::size_t> widest;
        for (std::size_t i = 0; i < widths.size(); ++i) {
            const std::size_t width_min = table.columns[i].width_min;
            if (width_min == 0 || widths[i] <= width_min) continue;
            if (!widest || widths[i] > widths[*widest]) widest = i;
        }
        if (!widest) return;
        --widths[*widest];
    }
}

void append_row(std::string& out, const Table& table, const std::vector<std::size_t>& widths,
                const std::vector<Cell>& row, TextStyle style) {
    for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string text = row[i].text.empty() ? "-" : shortened(row[i].text, widths[i]);
        const std::string gap(widths[i] - columns_of(text), ' ');
        const bool is_left = table.columns[i].side == Column::Side::left;
        if (!is_left) out += gap;
        out += painted(text, row[i].paint, style);
        if (i + 1 < row.size()) out += (is_left ? gap : "") + "  ";
    }
    out += '\n';
}

}  // namespace

std::string painted(std::string text, Paint paint, TextStyle style) {
    if (!style.colours || paint == Paint::plain) return text;
    return std::string(code_of(paint)) + std::move(text) + "\x1b[0m";
}

Table without_empty_columns(const Table& table) {
    Table kept{.columns = {}, .rows = std::vector<std::vector<Cell>>(table.rows.size())};
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        const auto has_text = [i](const std::vector<Cell>& row) { return !row[i].text.empty(); };
        if (std::ranges::none_of(table.rows, has_text)) continue;
        kept.columns.push_back(table.columns[i]);
        for (std::size_t row = 0; row < table.rows.size(); ++row)
            kept.rows[row].push_back(table.rows[row][i]);
    }
    return kept;
}

std::string text_of(const Table& whole, TextStyle style) {
    if (whole.rows.empty()) return "";
    const Table table = style.columns > 0 ? without_usual_columns(whole, style.columns) : whole;
    std::vector<std::size_t> widths = widths_of(table);
    if (style.columns > 0) narrow(widths, table, style.columns);
    std::vector<Cell> titles;
    for (const Column& column : table.columns) titles.push_back({column.title, Paint::dim});
    std::string out;
    append_row(out, table, widths, titles, style);
    for (const auto& row : table.rows) append_row(out, table, widths, row, style);
    return out;
}

}  // namespace turnpike
