// Feeds a reader with the same bytes twice: in pieces as large as it has room for, and in pieces of
// the sizes that the fuzzer chose. It must find the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/http_properties.h"
#include "http/progress.h"

namespace turnpike::http::fuzz {

/// The input of the fuzzer: a byte of options, a byte n, n sizes of pieces (used in turn), the
/// bytes of the connection.
struct SplitInput {
    std::uint8_t options = 0;
    std::string_view sizes;
    std::string_view raw;

    explicit SplitInput(std::string_view input) {
        if (input.size() < 2) return;
        options = static_cast<std::uint8_t>(input[0]);
        const std::size_t count = static_cast<std::uint8_t>(input[1]) % 16;
        sizes = input.substr(2, count);
        raw = input.substr(std::min(2 + count, input.size()));
    }
    /// Returns the size of the piece with this number, at least 1.
    [[nodiscard]] std::size_t size_of(std::size_t piece) const {
        return 1 + static_cast<std::uint8_t>(sizes[piece % sizes.size()]);
    }
};

/// Readers must have room(), came(), take_all(told) → is it over?, end(told).
template <class Reader>
std::string told_by(Reader reader, const SplitInput& input, bool is_split) {
    std::string told;
    std::string_view left = input.raw;
    bool is_over = reader.take_all(told);
    for (std::size_t piece = 0; !left.empty() && !is_over; ++piece) {
        const std::span<char> room = reader.room();
        require(!room.empty(), "a reader that asks for more has room");
        require(room.size() <= std::size_t{64} * 1024, "the buffer is bounded");
        const std::size_t wanted = is_split ? input.size_of(piece) : left.size();
        const std::size_t size = std::min({wanted, room.size(), left.size()});
        std::memcpy(room.data(), left.data(), size);
        reader.came(size);
        left.remove_prefix(size);
        is_over = reader.take_all(told);
    }
    if (!is_over) reader.end(told);
    return told;
}

inline void tell_fault(std::string& told, Fault fault) {
    require(fault != Fault::none, "a fault has a name");
    told.append(" fault ").append(name_of(fault));
}

template <class Reader>
void require_same_however_split(const SplitInput& input) {
    const std::string whole = told_by(Reader(input.options), input, false);
    if (input.sizes.empty()) return;
    require(told_by(Reader(input.options), input, true) == whole,
            "any split gives the same result");
}

}  // namespace turnpike::http::fuzz
