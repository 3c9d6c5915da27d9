#include "terminal/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <tuple>

namespace turnpike {
namespace {

/// Returns the value of an environment variable, or "" if it is not set.
std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

bool wants_live_lines() {
    const std::string_view kind = variable("TERM");
    return ::isatty(STDERR_FILENO) == 1 && !kind.empty() && kind != "dumb";
}

bool wants_colours() {
    return ::isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR").empty() &&
           variable("TERM") != "dumb";
}

std::size_t stdout_columns() {
    winsize size{};
    if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
    return size.ws_col;
}

/// Opens the terminal a second time, since stderr's own flags are shared with the process that gave
/// it to us.
std::optional<Terminal> Terminal::open() {
    if (!wants_live_lines()) return std::nullopt;
    UniqueFd fd(::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd) return std::nullopt;
    return Terminal(std::move(fd));
}

Screen Terminal::screen() const {
    winsize size{};
    if (::ioctl(fd_.get(), TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
        return {};
    return {.columns = size.ws_col, .rows = size.ws_row};
}

void Terminal::draw(std::string_view block) const {
    const auto lines = std::ranges::count(block, '\n');
    std::string text = std::string(wipe) + std::string(block);
    if (lines > 0) text += "\x1b[" + std::to_string(lines) + "A";
    std::ignore = ::write(fd_.get(), text.data(), text.size());
}

}  // namespace turnpike
