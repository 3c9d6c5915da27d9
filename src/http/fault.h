// What can be wrong with the bytes of the other side. A request with a fault is answered with
// status_of(fault) and the connection is closed; a response with a fault is no answer at all.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike::http {

enum class Fault : std::uint8_t {
    none,
    // of any message
    bad_line_end,     // a bare CR or LF
    bad_field,        // no name, no colon, space before it, obs-fold, bytes that may not be there
    bad_length,       // not a number, listed, repeated, too large
    bad_coding,       // any transfer coding but exactly `chunked`, or that in HTTP/1.0
    two_framings,     // Content-Length and Transfer-Encoding
    bad_chunk,        // sizes with signs, spaces, overflow; long extensions; no CRLF after the data
    bad_trailer,      // malformed, or a field that has no place in a trailer
    head_too_large,   // head_max
    too_many_fields,  // fields_max
    trailer_too_large,  // trailer_max
    bad_version,        // HTTP, but neither 1.0 nor 1.1
    bad_connection,     // Connection is no list of tokens, or has too many of them
    truncated,          // the connection ended within the message
    // of requests
    bad_request_line,
    bad_method,      // not a token
    unknown_method,  // a token that we don't know
    refused_method,  // CONNECT, TRACE
    bad_target,
    target_too_long,
    bad_host,    // missing, doubled, malformed, or other than the absolute-form's
    bad_expect,  // anything but one 100-continue
    upgrade,     // asks for another protocol (h2c is ignored instead, as RFC 9110 allows)
    // of responses
    bad_status_line,
    unasked_upgrade,  // 101
};

/// What a client is answered: 400, 405 (which needs an Allow field), 414, 417, 431, 501 or 505; for
/// a fault that only a response can have, 502.
int status_of(Fault);

/// A sentence for the client or the log: what was wrong.
std::string_view sentence_of(Fault);

std::string_view name_of(Fault);

}  // namespace turnpike::http
