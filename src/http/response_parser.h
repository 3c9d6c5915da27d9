// Strict, incremental parsing of response heads, used like RequestParser (request_parser.h).
//
// It is tolerant in one place: the reason phrase may be missing together with its space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/fault.h"
#include "http/head_fields.h"
#include "http/head_lines.h"
#include "http/message.h"
#include "http/progress.h"

namespace turnpike::http {

class ResponseParser {
public:
    explicit ResponseParser(const Limits& limits);
    ResponseParser(ResponseParser&&) = default;
    ResponseParser& operator=(ResponseParser&&) = default;

    /// `bytes` must be the whole message so far. `asked` is the method of the request, which
    /// decides whether there is a body. Once done, a further call only makes head() refer to the
    /// new bytes.
    Progress parse(std::string_view bytes, Method asked);

    /// Must be called after `done`. The views refer to the bytes of the last parse().
    [[nodiscard]] const ResponseHead& head() const;
    [[nodiscard]] std::size_t size() const { return lines_.next(); }
    [[nodiscard]] Fault fault() const { return fault_; }
    void reset();

private:
    enum class Stage : std::uint8_t { status_line, fields, done };

    Fault advance(std::string_view bytes, Method asked);
    Fault take_line(std::string_view bytes, Method asked);
    Fault take_status_line(std::string_view line);
    void finish(Method asked);

    std::uint32_t head_max_;
    std::uint32_t fields_max_;
    Stage stage_ = Stage::status_line;
    Fault fault_ = Fault::none;
    HeadLines lines_;
    HeadFields fields_;
    ResponseHead head_;
};

}  // namespace turnpike::http
