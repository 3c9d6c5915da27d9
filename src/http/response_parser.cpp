#include "http/response_parser.h"

#include <algorithm>

#include "base/check.h"
#include "http/chars.h"
#include "http/version.h"

namespace turnpike::http {

namespace {

constexpr std::size_t offset_max = std::size_t{1} << 30;  // places are 32 bits wide

/// Returns a status from 100 to 599, or 0 if the text is not one.
int parse_status(std::string_view text) {
    if (text.size() != 3 || !all(digit_char, text) || text[0] < '1' || text[0] > '5') return 0;
    return (text[0] - '0') * 100 + (text[1] - '0') * 10 + (text[2] - '0');
}

bool never_has_a_body(int status, Method asked) {
    return asked == Method::head || status < 200 || status == 204 || status == 304;
}

}  // namespace

ResponseParser::ResponseParser(const Limits& limits)
    : head_max_(static_cast<std::uint32_t>(limits.head_max)),
      fields_max_(static_cast<std::uint32_t>(limits.fields_max)) {
    CHECK(std::max(limits.head_max, limits.fields_max) <= offset_max);
}

Progress ResponseParser::parse(std::string_view bytes, Method asked) {
    if (fault_ == Fault::none) fault_ = advance(bytes.substr(0, head_max_), asked);
    if (fault_ != Fault::none) return Progress::fault;
    if (stage_ != Stage::done) return Progress::more;
    head_.fields = fields_.resolve(bytes);
    return Progress::done;
}

Fault ResponseParser::advance(std::string_view bytes, Method asked) {
    if (!bytes.empty() && bytes[0] != 'H') return Fault::bad_status_line;
    while (stage_ != Stage::done) {
        switch (lines_.cut(bytes, head_max_)) {
            case HeadLines::Cut::more: return Fault::none;
            case HeadLines::Cut::limit: return Fault::head_too_large;
            case HeadLines::Cut::bad_end: return Fault::bad_line_end;
            case HeadLines::Cut::line: break;
        }
        if (const Fault fault = take_line(bytes, asked); fault != Fault::none) return fault;
    }
    return Fault::none;
}

Fault ResponseParser::take_line(std::string_view bytes, Method asked) {
    const std::string_view line = lines_.line(bytes);
    if (stage_ == Stage::status_line) return take_status_line(line);
    if (!line.empty())
        return fields_.count() == fields_max_ ? Fault::too_many_fields : fields_.add(line, bytes);
    finish(asked);
    return Fault::none;
}

Fault ResponseParser::take_status_line(std::string_view line) {
    constexpr std::size_t version_size = 8;
    constexpr std::size_t phrase_at = version_size + 4;
    const auto version = parse_version(line.substr(0, version_size), Fault::bad_status_line);
    if (!version) return fault_in(line, version.error());
    const std::string_view rest = line.substr(version_size);
    const int status = rest.starts_with(' ') ? parse_status(rest.substr(1, 3)) : 0;
    const bool has_phrase = line.size() > phrase_at;
    if (status == 0 || (has_phrase && line[phrase_at] != ' ') || !is_value(line))
        return fault_in(line, Fault::bad_status_line);
    if (status == 101) return Fault::unasked_upgrade;
    head_.version = *version;
    head_.status = status;
    fields_.begin(*version);
    stage_ = Stage::fields;
    return Fault::none;
}

void ResponseParser::finish(Method asked) {
    stage_ = Stage::done;
    head_.keep_alive = fields_.keeps_alive();
    if (never_has_a_body(head_.status, asked)) return;
    if (fields_.is_chunked()) {
        head_.framing = Framing::chunked;
    } else if (fields_.has_length()) {
        head_.framing = Framing::length;
        head_.length = fields_.length();
    } else {
        head_.framing = Framing::until_close;
        head_.keep_alive = false;
    }
}

const ResponseHead& ResponseParser::head() const {
    CHECK(stage_ == Stage::done);
    return head_;
}

void ResponseParser::reset() {
    fields_.reset();
    lines_ = {};
    head_ = {};
    stage_ = Stage::status_line;
    fault_ = Fault::none;
}

}  // namespace turnpike::http
