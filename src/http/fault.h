// What can be wrong with the bytes of the other side. We answer a request that has a fault with
// status_of(fault) and close the connection. A response that has a fault counts as no answer.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike::http {

enum class Fault : std::uint8_t {
    none,
    // in any message
    bad_line_end,       // a bare CR or LF
    bad_field,          // no name, no colon, a space before the colon, obs-fold, forbidden bytes
    bad_length,         // not a number, a list, repeated, or too large
    bad_coding,         // a transfer coding other than `chunked`, or any in HTTP/1.0
    two_framings,       // both Content-Length and Transfer-Encoding
    bad_chunk,          // a bad or too large size, a long extension, no CRLF after the data
    bad_trailer,        // malformed, or a field that is not allowed in a trailer
    head_too_large,     // more than head_max
    too_many_fields,    // more than fields_max
    trailer_too_large,  // more than trailer_max
    bad_version,        // a version of HTTP other than 1.0 and 1.1
    bad_connection,     // Connection is not a list of tokens, or has too many
    truncated,          // the connection ended within the message
    // in requests
    bad_request_line,
    bad_method,      // not a token
    unknown_method,  // a valid token, but not a method that we know
    refused_method,  // CONNECT, TRACE
    bad_target,
    target_too_long,
    bad_host,    // missing, repeated, malformed, or different from the absolute-form's host
    bad_expect,  // anything but one 100-continue
    websocket,   // asks for a WebSocket (offers of other protocols are ignored)
    // in responses
    bad_status_line,
    unasked_upgrade,    // status 101
    too_many_interims,  // more than Limits::interims_max answers with a status of 1xx
};

/// Returns the status to answer: 400, 405 (which needs an Allow field), 414, 417, 431, 501 or 505.
/// For a fault that only a response can have, it is 502.
int status_of(Fault);

/// Returns a sentence for the client or the log that says what was wrong.
std::string_view sentence_of(Fault);

std::string_view name_of(Fault);

}  // namespace turnpike::http
