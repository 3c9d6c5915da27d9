// Writes JSON into a string and puts the commas in. Durations are decimal seconds.
//
//   JsonWriter json(out);
//   json.open_object();
//   json.member("lane", 3);
//   json.key("jobs"), json.open_array(), json.value("a"), json.close_array();
//   json.close_object();
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/json_text.h"
#include "base/time.h"

namespace turnpike {

class JsonWriter {
public:
    explicit JsonWriter(std::string& out) : out_(out) {}

    void open_object() { open('{'); }
    void close_object() { close('}'); }
    void open_array() { open('['); }
    void close_array() { close(']'); }

    void key(std::string_view name) {
        separate();
        append_json_string(out_, name);
        out_ += ':';
        needs_comma_ = false;
    }

    void value(std::string_view text) { separate(), append_json_string(out_, text); }
    void value(const char* text) { value(std::string_view(text)); }
    void value(bool truth) { raw(truth ? "true" : "false"); }
    void value(std::nullptr_t) { raw("null"); }
    void value(std::integral auto number) {
        std::array<char, 24> digits{};
        raw({digits.data(), std::to_chars(digits.begin(), digits.end(), number).ptr});
    }
    /// Writes seconds, with no more decimals than the microseconds need: 1.25
    void value(Duration duration) {
        std::array<char, 40> digits{};
        const auto us = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
        char* end = std::to_chars(digits.begin(), digits.end(), us / 1'000'000).ptr;
        append_fraction(end, us % 1'000'000);
        raw({digits.data(), end});
    }
    /// Writes a complete JSON value as it is.
    void raw(std::string_view json) { separate(), out_.append(json); }

    void member(std::string_view name, const auto& what) { key(name), value(what); }
    void text_or_null(std::string_view name, std::string_view text) {
        key(name);
        text.empty() ? value(nullptr) : value(text);
    }

private:
    void open(char bracket) {
        separate();
        out_ += bracket;
        needs_comma_ = false;
    }
    void close(char bracket) {
        out_ += bracket;
        needs_comma_ = true;
    }
    void separate() {
        if (needs_comma_) out_ += ',';
        needs_comma_ = true;
    }
    static void append_fraction(char*& end, std::int64_t millionths) {
        if (millionths <= 0) return;
        *end++ = '.';
        for (std::int64_t unit = 100'000; millionths > 0; unit /= 10) {
            *end++ = static_cast<char>('0' + millionths / unit);
            millionths %= unit;
        }
    }

    std::string& out_;
    bool needs_comma_ = false;
};

}  // namespace turnpike
