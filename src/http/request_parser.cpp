#include "http/request_parser.h"

#include <algorithm>
#include <expected>

#include "base/check.h"
#include "http/authority.h"
#include "http/chars.h"
#include "http/fields.h"
#include "http/list.h"
#include "http/target.h"
#include "http/version.h"

namespace turnpike::http {

namespace {

constexpr std::size_t offset_max = std::size_t{1} << 30;  // places are 32 bits wide
constexpr std::uint8_t empty_lines_max = 2;
constexpr std::size_t around_target_max = std::string_view("OPTIONS  HTTP/1.1\r\n").size();

std::expected<Method, Fault> parse_method(std::string_view name) {
    if (const auto method = method_named(name)) return *method;
    const bool refused = name == "CONNECT" || name == "TRACE";
    return std::unexpected(refused ? Fault::refused_method : Fault::unknown_method);
}

}  // namespace

RequestParser::RequestParser(const Limits& limits)
    : target_max_(static_cast<std::uint32_t>(limits.target_max)),
      head_max_(static_cast<std::uint32_t>(limits.head_max)),
      fields_max_(static_cast<std::uint32_t>(limits.fields_max)) {
    CHECK(std::max({limits.target_max, limits.head_max, limits.fields_max}) <= offset_max);
}

Progress RequestParser::parse(std::string_view bytes) {
    if (fault_ == Fault::none) fault_ = advance(bytes.substr(0, head_max_));
    if (fault_ != Fault::none) return Progress::fault;
    if (stage_ != Stage::done) return Progress::more;
    resolve(bytes);
    return Progress::done;
}

Fault RequestParser::advance(std::string_view bytes) {
    while (stage_ != Stage::done) {
        if (stage_ == Stage::request_line)
            if (const Fault fault = look_at_first_byte(bytes); fault != Fault::none) return fault;
        switch (lines_.cut(bytes, line_end_max())) {
            case HeadLines::Cut::more: return Fault::none;
            case HeadLines::Cut::limit: return fault_at_limit(bytes);
            case HeadLines::Cut::bad_end: return Fault::bad_line_end;
            case HeadLines::Cut::line: break;
        }
        if (const Fault fault = take_line(bytes); fault != Fault::none) return fault;
    }
    return Fault::none;
}

Fault RequestParser::look_at_first_byte(std::string_view bytes) const {
    const std::string_view rest = bytes.substr(lines_.next());
    if (rest.empty() || is(token_char, rest[0])) return Fault::none;
    if (rest[0] == '\r' && (rest.size() == 1 || rest[1] == '\n')) return Fault::none;
    return rest[0] == '\r' || rest[0] == '\n' ? Fault::bad_line_end : Fault::bad_method;
}

std::size_t RequestParser::line_end_max() const {
    if (stage_ != Stage::request_line) return head_max_;
    return std::min<std::size_t>(head_max_, lines_.next() + target_max_ + around_target_max);
}

/// Looks only at the bytes up to the limit, so that the fault does not depend on how the bytes were
/// split.
Fault RequestParser::fault_at_limit(std::string_view bytes) const {
    const std::size_t end = line_end_max();
    if (end == head_max_) return Fault::head_too_large;
    const std::string_view line = bytes.substr(lines_.next(), end - lines_.next());
    const std::size_t method_end = count_front(token_char, line);
    if (method_end == line.size()) return Fault::unknown_method;
    if (line[method_end] != ' ') return fault_in(line, Fault::bad_method);
    const std::string_view target = line.substr(method_end + 1);
    if (target.find(' ') > target_max_) return Fault::target_too_long;
    return fault_in(line, Fault::bad_request_line);
}

Fault RequestParser::take_line(std::string_view bytes) {
    const std::string_view line = lines_.line(bytes);
    if (stage_ == Stage::fields) return line.empty() ? finish(bytes) : take_field(line, bytes);
    if (!line.empty()) return take_request_line(line, bytes);
    return ++empty_lines_ > empty_lines_max ? Fault::bad_request_line : Fault::none;
}

/// Checks the shape first, then version, method and target. So HTTP/2's PRI is answered with a
/// fault of the version.
Fault RequestParser::take_request_line(std::string_view line, std::string_view bytes) {
    const std::size_t method_end = count_front(token_char, line);
    if (method_end == line.size()) return Fault::bad_request_line;
    if (line[method_end] != ' ') return fault_in(line, Fault::bad_method);
    const std::string_view rest = line.substr(method_end + 1);
    const std::size_t target_end = rest.find(' ');
    if (target_end == 0 || target_end == std::string_view::npos)
        return fault_in(line, Fault::bad_request_line);
    if (target_end > target_max_) return Fault::target_too_long;
    const auto version = parse_version(rest.substr(target_end + 1), Fault::bad_request_line);
    if (!version) return fault_in(line, version.error());
    const auto method = parse_method(line.substr(0, method_end));
    if (!method) return method.error();
    head_.version = *version;
    head_.method = *method;
    fields_.begin(*version);
    stage_ = Stage::fields;
    return take_target(rest.substr(0, target_end), bytes);
}

Fault RequestParser::take_target(std::string_view text, std::string_view bytes) {
    const auto target = parse_target(text, head_.method);
    if (!target) return fault_in(text, target.error());
    target_ = place_of(target->path, bytes);
    if (!target->authority.empty()) authority_ = place_of(target->authority, bytes);
    return Fault::none;
}

Fault RequestParser::take_field(std::string_view line, std::string_view bytes) {
    if (fields_.count() == fields_max_) return Fault::too_many_fields;
    if (const Fault fault = fields_.add(line, bytes); fault != Fault::none) return fault;
    const HeadFields::Entry& field = fields_.last();
    const std::string_view name = field.name.in(bytes);
    const std::string_view value = field.value.in(bytes);
    switch (name.size()) {
        case 4: return is_named(name, "host") ? take_host(field.value, bytes) : Fault::none;
        case 6: return is_named(name, "expect") ? take_expect(value) : Fault::none;
        case 7: return is_named(name, "upgrade") ? take_upgrade(value) : Fault::none;
        default: return Fault::none;
    }
}

Fault RequestParser::take_host(Place value, std::string_view bytes) {
    if (has_host_ || !is_authority(value.in(bytes))) return Fault::bad_host;
    has_host_ = true;
    host_ = value;
    return Fault::none;
}

/// Accepts only one 100-continue. Ignores that of an HTTP/1.0 client, as RFC 9110 says.
Fault RequestParser::take_expect(std::string_view value) {
    if (has_expect_ || !is_named(value, "100-continue")) return Fault::bad_expect;
    has_expect_ = true;
    head_.expects_continue = head_.version == Version::http_1_1;
    return Fault::none;
}

/// Ignores offers of other protocols, as RFC 9110 allows: Java's client offers h2c with every first
/// request. Only a WebSocket is refused, because its client has no use for any other answer.
Fault RequestParser::take_upgrade(std::string_view value) const {
    if (head_.version == Version::http_1_0) return Fault::none;
    while (!value.empty())
        if (is_named(cut_element(value), "websocket")) return Fault::websocket;
    return Fault::none;
}

Fault RequestParser::finish(std::string_view bytes) {
    if (!has_host_ && head_.version == Version::http_1_1) return Fault::bad_host;
    if (authority_.size > 0) {
        if (has_host_ && !is_named(host_.in(bytes), authority_.in(bytes))) return Fault::bad_host;
        host_ = authority_;
    }
    if (fields_.is_chunked()) head_.framing = Framing::chunked;
    if (fields_.has_length()) head_.framing = Framing::length;
    head_.length = fields_.length();
    head_.keep_alive = fields_.keeps_alive();
    stage_ = Stage::done;
    return Fault::none;
}

void RequestParser::resolve(std::string_view bytes) {
    head_.target = target_.in(bytes);
    if (head_.target.empty()) head_.target = head_.method == Method::options ? "*" : "/";
    head_.host = host_.in(bytes);
    head_.fields = fields_.resolve(bytes);
}

const RequestHead& RequestParser::head() const {
    CHECK(stage_ == Stage::done);
    return head_;
}

void RequestParser::reset() {
    fields_.reset();
    lines_ = {};
    head_ = {};
    target_ = authority_ = host_ = {};
    stage_ = Stage::request_line;
    fault_ = Fault::none;
    empty_lines_ = 0;
    has_host_ = has_expect_ = false;
}

}  // namespace turnpike::http
