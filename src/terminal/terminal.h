// The terminal of `up`, in which a block of lines is redrawn in place.
//
// After the block is drawn, the cursor goes back up to its first line. Every other line that is
// printed begins with `wipe` and so replaces the block; the block is then drawn again below it.
// Drawing never waits: if the terminal takes no output (Ctrl-S), the block is not drawn.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "os/file.h"

namespace turnpike {

/// True if text on stdout may have colours: stdout is a terminal that has some, and NO_COLOR is
/// unset or empty.
[[nodiscard]] bool wants_colours();

/// Returns the width of the terminal on stdout, or 0 if stdout is not a terminal or has no known
/// width.
[[nodiscard]] std::size_t stdout_columns();

/// True if stderr is a terminal on which lines can be redrawn.
[[nodiscard]] bool wants_live_lines();

struct Screen {
    std::size_t columns = 80;
    std::size_t rows = 24;
};

class Terminal {
public:
    static constexpr std::string_view wipe = "\r\x1b[J";

    /// Opens the terminal on stderr. Returns nullopt if stderr is not a terminal that can redraw
    /// lines.
    [[nodiscard]] static std::optional<Terminal> open();

    /// Returns the present size, which changes when people resize the window.
    [[nodiscard]] Screen screen() const;

    /// Draws the block, which must be lines with their newlines.
    void draw(std::string_view block) const;

private:
    explicit Terminal(UniqueFd fd) : fd_(std::move(fd)) {}

    UniqueFd fd_;
};

}  // namespace turnpike
