// Checks the header lines of a frame: any number of lines `Name: value\r\n`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace turnpike::wire {

/// True if every line ends with CRLF and has a colon after its first byte, and there is no other
/// CR, LF or NUL. A worker checks only this of the gate's lines, because the gate has checked the
/// rest.
[[nodiscard]] bool are_lines(std::string_view fields);

/// True if the lines can be sent to a client: names are tokens, values have no control bytes, and
/// none is Content-Length, Transfer-Encoding or Connection, which only the gate may set.
[[nodiscard]] bool are_answer_fields(std::string_view fields);

/// The same as are_answer_fields(), for a stream: one Content-Length, of digits only, is allowed.
[[nodiscard]] bool are_stream_fields(std::string_view fields);

/// Returns the Content-Length of a stream, if it has one. The fields must have passed
/// are_stream_fields().
[[nodiscard]] std::optional<std::uint64_t> announced_length(std::string_view fields);

/// True if the value of a field has no control byte except tabs.
[[nodiscard]] bool is_field_value(std::string_view value);

}  // namespace turnpike::wire
