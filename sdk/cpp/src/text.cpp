#include "text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "base/utf8.h"
#include "wire/frame.h"
#include "wire/header_lines.h"

namespace turnpike::inside {

std::string bounded(std::string_view text, std::size_t most) {
    std::string out;
    out.reserve(std::min(text.size(), most));
    while (!text.empty()) {
        const bool is_ascii = static_cast<unsigned char>(text[0]) < 0x80;
        const std::size_t size = is_ascii ? 1 : utf8_size(text);
        const std::string_view one = size > 0 ? text.substr(0, size) : utf8_replacement;
        if (out.size() + one.size() > most) break;
        out.append(one);
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return out;
}

std::string percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        unsigned value = 0;
        const char* const digits = text.data() + at + 1;
        const bool is_coded = text[at] == '%' && text.size() - at > 2 &&
                              std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2;
        out.push_back(is_coded ? static_cast<char>(value) : text[at]);
        if (is_coded) at += 2;
    }
    return out;
}

std::uint16_t permille_of(std::optional<double> fraction) {
    if (!fraction || std::isnan(*fraction)) return wire::permille_unknown;
    return static_cast<std::uint16_t>(std::lround(std::clamp(*fraction, 0.0, 1.0) * 1000));
}

std::string fields_of(const std::string& content_type, const std::vector<Header>& headers) {
    std::string fields;
    const auto append = [&](const std::string& name, const std::string& value) {
        const std::string line = name + ": " + value + "\r\n";
        if (!wire::is_field_value(value) || !wire::are_answer_fields(line))
            throw std::invalid_argument(
                "a header line of the answer is malformed or not allowed (Content-Length, "
                "Transfer-Encoding, Connection): " +
                line);
        fields += line;
    };
    if (!content_type.empty()) append("Content-Type", content_type);
    for (const Header& header : headers) append(header.name, header.value);
    if (fields.size() > wire::fields_max)
        throw std::invalid_argument("the header lines of the answer are longer than 64 KiB");
    return fields;
}

std::uint16_t status_of(int status) {
    if (status < 200 || status > 599)
        throw std::invalid_argument("the answer's status is " + std::to_string(status) +
                                    "; it must be 200 to 599");
    return static_cast<std::uint16_t>(status);
}

}  // namespace turnpike::inside
