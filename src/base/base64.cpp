#include "base/base64.h"

#include <algorithm>
#include <cstdint>

namespace turnpike {

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
    return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
}

}  // namespace

std::string base64_of(std::string_view bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::uint32_t three =
            byte_at(bytes, i) << 16 | byte_at(bytes, i + 1) << 8 | byte_at(bytes, i + 2);
        const std::size_t used = std::min<std::size_t>(bytes.size() - i, 3) + 1;
        for (std::size_t j = 0; j < 4; ++j)
            text += j < used ? alphabet[three >> (18 - 6 * j) & 63] : '=';
    }
    return text;
}

std::optional<std::string> bytes_of_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); i += 4) {
        std::string_view four = text.substr(i, 4);
        const bool is_last = i + 4 == text.size();
        while (is_last && four.size() > 2 && four.ends_with('=')) four.remove_suffix(1);
        std::uint32_t three = 0;
        for (std::size_t j = 0; j < 4; ++j) {
            const std::size_t value = j < four.size() ? alphabet.find(four[j]) : 0;
            if (value == std::string_view::npos) return std::nullopt;
            three = three << 6 | static_cast<std::uint32_t>(value);
        }
        for (std::size_t j = 0; j + 1 < four.size(); ++j)
            bytes += static_cast<char>(three >> (16 - 8 * j) & 255);
    }
    return bytes;
}

}  // namespace turnpike
