// Splits a head into lines. Bytes may come in any pieces; a line is cut off once its LF is there,
// and no byte is searched twice. Places are offsets, because the buffer may move between calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/fault.h"

namespace turnpike::http {

struct Place {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;

    [[nodiscard]] std::string_view in(std::string_view bytes) const {
        return {bytes.data() + begin, size};
    }
};

/// Returns where `piece` is in `bytes`.
inline Place place_of(std::string_view piece, std::string_view bytes) {
    return {static_cast<std::uint32_t>(piece.data() - bytes.data()),
            static_cast<std::uint32_t>(piece.size())};
}

class HeadLines {
public:
    enum class Cut : std::uint8_t {
        line,
        more,     // the end of the line has not come yet
        limit,    // the line does not end before end_max
        bad_end,  // LF without CR
    };

    /// Looks for the end of the next line before end_max.
    Cut cut(std::string_view bytes, std::size_t end_max);

    /// Returns the line without its CRLF. Must be called after Cut::line.
    [[nodiscard]] std::string_view line(std::string_view bytes) const { return line_.in(bytes); }

    /// Returns the offset at which the next line begins.
    [[nodiscard]] std::uint32_t next() const { return next_; }

private:
    Place line_;
    std::uint32_t next_ = 0;
    std::uint32_t searched_ = 0;
};

inline HeadLines::Cut HeadLines::cut(std::string_view bytes, std::size_t end_max) {
    const std::string_view seen = bytes.substr(0, end_max);
    const std::string_view fresh = seen.substr(std::min<std::size_t>(searched_, seen.size()));
    const std::size_t found = fresh.find('\n');
    if (found == std::string_view::npos) {
        searched_ = static_cast<std::uint32_t>(seen.size());
        return seen.size() == end_max ? Cut::limit : Cut::more;
    }
    const std::size_t end = seen.size() - fresh.size() + found;
    if (end == next_ || bytes[end - 1] != '\r') return Cut::bad_end;
    line_ = {next_, static_cast<std::uint32_t>(end - 1 - next_)};
    next_ = searched_ = static_cast<std::uint32_t>(end + 1);
    return Cut::line;
}

/// Returns the fault of text that does not match the grammar: bad_line_end if it has a bare CR,
/// otherwise the given fault.
inline Fault fault_in(std::string_view text, Fault otherwise) {
    return text.find('\r') == std::string_view::npos ? otherwise : Fault::bad_line_end;
}

}  // namespace turnpike::http
