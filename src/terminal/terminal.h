// The terminal of `up`, where a block of lines is drawn anew in its place.
//
// The block is drawn, then the cursor goes back up to its first line. Whatever else is printed there
// begins with `wipe`, and so takes the block's place; the next drawing follows below. Drawing never
// waits: on a terminal that takes nothing (Ctrl-S) it is left out.
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

/// Returns the width of the terminal on stdout, or 0 if stdout is no terminal or does not tell.
[[nodiscard]] std::size_t stdout_columns();

/// True if stderr is a terminal on which lines can be drawn anew.
[[nodiscard]] bool wants_live_lines();

struct Screen {
    std::size_t columns = 80;
    std::size_t rows = 24;
};

class Terminal {
public:
    static constexpr std::string_view wipe = "\r\x1b[J";

    /// stderr; nothing: it is no terminal, or one that can't do this.
    [[nodiscard]] static std::optional<Terminal> open();

    /// Asked anew each time, as people change it.
    [[nodiscard]] Screen screen() const;

    /// Lines with their newlines.
    void draw(std::string_view block) const;

private:
    explicit Terminal(UniqueFd fd) : fd_(std::move(fd)) {}

    UniqueFd fd_;
};

}  // namespace turnpike
