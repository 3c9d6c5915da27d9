#include "http/head_lines.h"

#include <algorithm>
#include <cstring>

namespace turnpike::http {

HeadLines::Cut HeadLines::cut(std::string_view bytes, std::size_t end_max) {
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

}  // namespace turnpike::http
