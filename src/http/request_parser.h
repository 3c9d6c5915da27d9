// Strict, incremental parsing of request heads. The caller keeps all bytes of the message in one
// piece and calls again when more have come. No byte is searched twice, and none is copied. The
// result does not depend on how the bytes are split.
//
//   RequestParser parser(limits);
//   switch (parser.parse(buffer)) {
//       case Progress::more: read more, append it, parse again
//       case Progress::done: parser.head(), the body begins at buffer[parser.size()]
//       case Progress::fault: parser.fault()
//   }
//   parser.reset();  // for the next message
//
// It works line by line: it finds a fault when the line with the fault is complete, or when a limit
// is reached. Only a first byte that no method begins with, such as that of TLS, is refused at
// once.
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

class RequestParser {
public:
    explicit RequestParser(const Limits& limits);
    RequestParser(RequestParser&&) = default;
    RequestParser& operator=(RequestParser&&) = default;

    /// `bytes` must be the whole message so far. Skips up to two empty lines (CRLF) before it. Once
    /// done, a further call only makes head() refer to the new bytes.
    Progress parse(std::string_view bytes);

    /// Must be called after `done`. The views refer to the bytes of the last parse().
    [[nodiscard]] const RequestHead& head() const;
    /// Returns the size of the head, with the empty lines before and after it.
    [[nodiscard]] std::size_t size() const { return lines_.next(); }
    [[nodiscard]] Fault fault() const { return fault_; }
    void reset();

private:
    enum class Stage : std::uint8_t { request_line, fields, done };

    Fault advance(std::string_view bytes);
    Fault look_at_first_byte(std::string_view bytes) const;
    std::size_t line_end_max() const;
    Fault fault_at_limit(std::string_view bytes) const;
    Fault take_line(std::string_view bytes);
    Fault take_request_line(std::string_view line, std::string_view bytes);
    Fault take_target(std::string_view text, std::string_view bytes);
    Fault take_field(std::string_view line, std::string_view bytes);
    Fault take_host(Place value, std::string_view bytes);
    Fault take_expect(std::string_view value);
    [[nodiscard]] Fault take_upgrade(std::string_view value) const;
    Fault finish(std::string_view bytes);
    void resolve(std::string_view bytes);

    std::uint32_t target_max_;
    std::uint32_t head_max_;
    std::uint32_t fields_max_;
    Stage stage_ = Stage::request_line;
    Fault fault_ = Fault::none;
    std::uint8_t empty_lines_ = 0;
    bool has_host_ = false;
    bool has_expect_ = false;
    HeadLines lines_;
    HeadFields fields_;
    RequestHead head_;
    Place target_;
    Place authority_;  // from the absolute-form
    Place host_;
};

}  // namespace turnpike::http
