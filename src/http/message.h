// Heads of HTTP/1.1 messages, as parsed: views into the bytes they were parsed from.
//
// Everything here was checked: a method is known, a target is well-formed, a name is a token, a
// value has no control bytes, and there is exactly one framing. So a parsed head may be written
// again without another check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace turnpike::http {

enum class Method : std::uint8_t { get, head, post, put, patch, delete_, options };

std::string_view name_of(Method);

/// Returns the method of this name, which is case-sensitive, or nullopt if we don't know it.
std::optional<Method> method_named(std::string_view name);

enum class Version : std::uint8_t { http_1_0, http_1_1 };

/// How the end of a body is found.
enum class Framing : std::uint8_t {
    none,         // there is no body
    length,       // Content-Length
    chunked,      // Transfer-Encoding: chunked
    until_close,  // responses only
};

/// A name as it was sent (compare it with is_named), and a value without the blanks around it.
struct Field {
    std::string_view name;
    std::string_view value;
};

using Fields = std::span<const Field>;

struct RequestHead {
    Method method = Method::get;
    Version version = Version::http_1_1;
    std::string_view target;  // "/path?query" (in absolute-form, the part after the
                              // authority), or "*" with OPTIONS
    std::string_view host;    // from the absolute-form or from Host; empty only in HTTP/1.0
    Fields fields;
    Framing framing = Framing::none;
    std::uint64_t length = 0;  // with Framing::length
    bool keep_alive = true;
    bool expects_continue = false;  // Expect: 100-continue, from an HTTP/1.1 client
};

struct ResponseHead {
    int status = 200;
    Version version = Version::http_1_1;
    Fields fields;
    Framing framing = Framing::none;
    std::uint64_t length = 0;  // with Framing::length
    bool keep_alive = true;

    [[nodiscard]] bool is_interim() const { return status < 200; }
};

/// The parsers check these limits before they use memory.
struct Limits {
    std::size_t target_max = 8 * 1024;
    std::size_t head_max = 64 * 1024;  // request or status line and all fields
    std::size_t fields_max = 100;
    std::size_t chunk_extension_max = 256;
    std::size_t trailer_max = 8 * 1024;
    std::size_t interims_max = 16;  // answers with a status of 1xx before the answer
};

}  // namespace turnpike::http
