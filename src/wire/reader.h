// Reads the parts of one payload in order. It remembers the first breach; after that every part
// reads as 0 or empty. So a frame can be read to its end and checked once, with verdict().
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "wire/breach.h"
#include "wire/frame.h"

namespace turnpike::wire {

template <class Number>
Number load_little_endian(const char* bytes) {
    Number number;
    std::memcpy(&number, bytes, sizeof number);
    return std::endian::native == std::endian::big ? std::byteswap(number) : number;
}

class Reader {
public:
    explicit Reader(std::string_view payload) : left_(payload) {}

    std::uint8_t u8() { return number<std::uint8_t>(); }
    std::uint16_t u16() { return number<std::uint16_t>(); }
    std::uint32_t u32() { return number<std::uint32_t>(); }
    std::uint64_t u64() { return number<std::uint64_t>(); }

    void zero8() { require(u8() == 0, Breach::not_zero); }
    void zero16() { require(u16() == 0, Breach::not_zero); }
    std::uint16_t u16_within(std::uint16_t low, std::uint16_t high);
    std::uint16_t permille();
    /// Reads a u8 from 0 to `last` as an enumeration.
    template <class Choice>
    Choice choice(Choice last) {
        const std::uint8_t value = u8();
        require(value <= static_cast<std::uint8_t>(last), Breach::value_out_of_bounds);
        return is_good() ? static_cast<Choice>(value) : Choice{};
    }
    /// Read the length of a part that comes later.
    std::size_t length16(std::size_t most) { return within(u16(), most); }
    std::size_t length32(std::size_t most) { return within(u32(), most); }

    std::string_view bytes(std::size_t size) {
        require(size <= left_.size(), Breach::size_wrong);
        if (!is_good()) return {};
        const std::string_view taken = left_.substr(0, size);
        left_.remove_prefix(size);
        return taken;
    }
    std::string_view text(std::size_t size);  // UTF-8
    std::string_view rest() { return bytes(left_.size()); }
    std::string_view text_rest() { return text(left_.size()); }
    /// Reads the rest: the body, or, if the flag is set, the length of a body in a descriptor.
    BodyPart body(std::uint8_t flags);

    void require(bool holds, Breach otherwise) {
        if (!holds && is_good()) breach_ = otherwise;
    }
    [[nodiscard]] bool is_good() const { return breach_ == Breach::none; }
    [[nodiscard]] std::size_t left() const { return left_.size(); }
    /// Must be called after all parts were read. Returns the first breach.
    [[nodiscard]] Breach verdict() {
        require(left_.empty(), Breach::size_wrong);
        return breach_;
    }

private:
    template <class Number>
    Number number() {
        const std::string_view taken = bytes(sizeof(Number));
        return is_good() ? load_little_endian<Number>(taken.data()) : Number{};
    }
    std::size_t within(std::size_t length, std::size_t most) {
        require(length <= most, Breach::length_too_large);
        return length;
    }

    std::string_view left_;
    Breach breach_ = Breach::none;
};

}  // namespace turnpike::wire
