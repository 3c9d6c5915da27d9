#include "http/head_fields.h"

#include <limits>
#include <optional>

#include "http/chars.h"
#include "http/fields.h"
#include "http/list.h"

namespace turnpike::http {

namespace {

constexpr std::size_t entries_kept = 16;
constexpr std::uint8_t connection_options_max = 32;  // is_hop_by_hop reads all for every field

/// Accepts only digits, and only numbers below 2^63, so that sums don't overflow.
std::optional<std::uint64_t> parse_length(std::string_view text) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    if (text.empty()) return std::nullopt;
    std::uint64_t length = 0;
    for (const char c : text) {
        if (!is(digit_char, c)) return std::nullopt;
        const auto digit = static_cast<std::uint64_t>(c - '0');
        if (length > (most - digit) / 10) return std::nullopt;
        length = length * 10 + digit;
    }
    return length;
}

}  // namespace

Fault HeadFields::add(std::string_view line, std::string_view bytes) {
    const std::size_t colon = count_front(token_char, line);
    if (colon == 0 || colon == line.size() || line[colon] != ':')
        return fault_in(line, Fault::bad_field);
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1));
    if (!is_value(value)) return fault_in(value, Fault::bad_field);
    if (entries_.capacity() == 0) entries_.reserve(entries_kept);
    entries_.push_back({place_of(name, bytes), place_of(value, bytes)});
    return look_at(name, value);
}

Fault HeadFields::look_at(std::string_view name, std::string_view value) {
    switch (name.size()) {
        case 10: return is_named(name, "connection") ? take_connection(value) : Fault::none;
        case 14: return is_named(name, "content-length") ? take_length(value) : Fault::none;
        case 17: return is_named(name, "transfer-encoding") ? take_coding(value) : Fault::none;
        default: return Fault::none;
    }
}

Fault HeadFields::take_length(std::string_view value) {
    const auto length = parse_length(value);
    if (!length || facts_.has_length) return Fault::bad_length;
    if (facts_.is_chunked) return Fault::two_framings;
    facts_.has_length = true;
    facts_.length = *length;
    return Fault::none;
}

Fault HeadFields::take_coding(std::string_view value) {
    if (facts_.version == Version::http_1_0 || facts_.is_chunked) return Fault::bad_coding;
    if (!is_named(value, "chunked")) return Fault::bad_coding;
    if (facts_.has_length) return Fault::two_framings;
    facts_.is_chunked = true;
    return Fault::none;
}

Fault HeadFields::take_connection(std::string_view value) {
    while (!value.empty()) {
        const std::string_view option = cut_element(value);
        if (++facts_.options > connection_options_max) return Fault::bad_connection;
        if (!all(token_char, option)) return Fault::bad_connection;
        facts_.says_close |= is_named(option, "close");
        facts_.says_keep_alive |= is_named(option, "keep-alive");
    }
    return Fault::none;
}

Fields HeadFields::resolve(std::string_view bytes) {
    fields_.clear();
    fields_.reserve(entries_.size());
    for (const Entry& entry : entries_)
        fields_.push_back({entry.name.in(bytes), entry.value.in(bytes)});
    return fields_;
}

bool HeadFields::keeps_alive() const {
    return !facts_.says_close && (facts_.version == Version::http_1_1 || facts_.says_keep_alive);
}

void HeadFields::reset() {
    facts_ = {};
    entries_.clear();
    fields_.clear();
    if (entries_.capacity() <= entries_kept) return;
    entries_.shrink_to_fit();
    fields_.shrink_to_fit();
}

}  // namespace turnpike::http
