// Writes messages. All functions append to a string, so that the caller can reuse it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/message.h"

namespace turnpike::http {

void append_request_line(std::string& out, Method method, std::string_view target);

/// Appends "HTTP/1.1 200 OK" with the standard phrase of the status. An unknown status has no
/// phrase, but the space before it stays.
void append_status_line(std::string& out, int status);

/// Does not check the name and value again: they come from a parsed head, or are our own.
void append_field(std::string& out, std::string_view name, std::string_view value);
void append_field(std::string& out, std::string_view name, std::uint64_t value);

/// Appends the line before a chunk of `size` bytes, which must not be 0. The data and CRLF follow.
void append_chunk_head(std::string& out, std::size_t size);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

std::string_view phrase_of(int status);

}  // namespace turnpike::http
