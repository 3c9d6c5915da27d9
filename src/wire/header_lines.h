// Header lines as they travel in a frame: `Name: value\r\n` each, or none at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace turnpike::wire {

/// Every line ends with CRLF and has a colon after its first byte; CR, LF and NUL are nowhere else.
/// What a worker asks of the gate, which has checked the rest.
[[nodiscard]] bool are_lines(std::string_view fields);

/// Fit to be sent to a client: names are tokens, values have no control bytes, none frames the
/// answer (Content-Length, Transfer-Encoding, Connection).
[[nodiscard]] bool are_answer_fields(std::string_view fields);

/// The same of a stream, which may announce its length: one Content-Length, of digits alone.
[[nodiscard]] bool are_stream_fields(std::string_view fields);

/// The Content-Length among the fields of a stream, which were checked.
[[nodiscard]] std::optional<std::uint64_t> announced_length(std::string_view fields);

/// The value of a field: no control byte but the tab.
[[nodiscard]] bool is_field_value(std::string_view value);

}  // namespace turnpike::wire
