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
#include <cstdint>
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
    void value(Duration duration) { fraction(duration / 1us, 1'000'000); }
    /// Writes milliseconds, with no more decimals than the microseconds need: 1250.5
    void milliseconds(Duration duration) { fraction(duration / 1us, 1000); }
    /// Writes number / 1000, with no more decimals than needed: 1.25 for 1250.
    void thousandths(std::int64_t number) { fraction(number, 1000); }
    /// Writes a complete JSON value as it is.
    void raw(std::string_view json) { separate(), out_.append(json); }
    /// Writes members that are JSON already: "a":1,"b":2
    void members(std::string_view json) { raw(json); }

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
    /// Writes number / unit. `unit` is a power of 10.
    void fraction(std::int64_t number, std::int64_t unit) {
        std::array<char, 40> digits{};
        char* end = std::to_chars(digits.begin(), digits.end(), number / unit).ptr;
        std::int64_t rest = number % unit;
        if (rest > 0) *end++ = '.';
        while (rest > 0) {
            unit /= 10;
            *end++ = static_cast<char>('0' + rest / unit);
            rest %= unit;
        }
        raw({digits.data(), end});
    }

    std::string& out_;
    bool needs_comma_ = false;
};

}  // namespace turnpike
