#include "http/fault.h"

namespace turnpike::http {

int status_of(Fault fault) {
    switch (fault) {
        case Fault::none: return 200;
        case Fault::bad_line_end:
        case Fault::bad_field:
        case Fault::bad_length:
        case Fault::bad_coding:
        case Fault::two_framings:
        case Fault::bad_chunk:
        case Fault::bad_trailer:
        case Fault::bad_connection:
        case Fault::truncated:
        case Fault::bad_request_line:
        case Fault::bad_method:
        case Fault::bad_target:
        case Fault::bad_host: return 400;
        case Fault::refused_method: return 405;
        case Fault::target_too_long: return 414;
        case Fault::bad_expect: return 417;
        case Fault::head_too_large:
        case Fault::too_many_fields:
        case Fault::trailer_too_large: return 431;
        case Fault::unknown_method:
        case Fault::websocket: return 501;
        case Fault::bad_status_line:
        case Fault::unasked_upgrade:
        case Fault::too_many_interims: return 502;
        case Fault::bad_version: return 505;
    }
    return 400;
}

std::string_view sentence_of(Fault fault) {
    switch (fault) {
        case Fault::none: return "Nothing is wrong.";
        case Fault::bad_line_end: return "A line ends with a bare CR or LF instead of CRLF.";
        case Fault::bad_field: return "A header field is malformed.";
        case Fault::bad_length: return "Content-Length is not exactly one plain number.";
        case Fault::bad_coding:
            return "Transfer-Encoding is not exactly \"chunked\", or is used with HTTP/1.0.";
        case Fault::two_framings:
            return "Content-Length and Transfer-Encoding are both given; only one is allowed.";
        case Fault::bad_chunk: return "A chunk of the body is malformed.";
        case Fault::bad_trailer:
            return "A trailer field is malformed, or not allowed in a trailer.";
        case Fault::head_too_large: return "The header fields are too large.";
        case Fault::too_many_fields: return "There are too many header fields.";
        case Fault::trailer_too_large: return "The trailer fields are too large.";
        case Fault::bad_version: return "Only HTTP/1.1 and HTTP/1.0 are supported.";
        case Fault::bad_connection: return "The Connection field is malformed, or too long.";
        case Fault::truncated: return "The connection ended before the message was complete.";
        case Fault::bad_request_line: return "The request line is malformed.";
        case Fault::bad_method: return "The request does not begin with an HTTP method.";
        case Fault::unknown_method: return "The method is unknown.";
        case Fault::refused_method: return "CONNECT and TRACE are not allowed.";
        case Fault::bad_target: return "The request target is malformed.";
        case Fault::target_too_long: return "The request target is too long.";
        case Fault::bad_host:
            return "Host is missing, repeated, malformed, or differs from the request target's.";
        case Fault::bad_expect: return "The Expect field may only be \"100-continue\".";
        case Fault::websocket: return "WebSockets are not supported.";
        case Fault::bad_status_line: return "The status line is malformed.";
        case Fault::unasked_upgrade:
            return "The answer switches protocols, but the request did not ask for that.";
        case Fault::too_many_interims:
            return "Too many interim answers (1xx) came before the answer.";
    }
    return "?";
}

std::string_view name_of(Fault fault) {
    switch (fault) {
        case Fault::none: return "none";
        case Fault::bad_line_end: return "bad_line_end";
        case Fault::bad_field: return "bad_field";
        case Fault::bad_length: return "bad_length";
        case Fault::bad_coding: return "bad_coding";
        case Fault::two_framings: return "two_framings";
        case Fault::bad_chunk: return "bad_chunk";
        case Fault::bad_trailer: return "bad_trailer";
        case Fault::head_too_large: return "head_too_large";
        case Fault::too_many_fields: return "too_many_fields";
        case Fault::trailer_too_large: return "trailer_too_large";
        case Fault::bad_version: return "bad_version";
        case Fault::bad_connection: return "bad_connection";
        case Fault::truncated: return "truncated";
        case Fault::bad_request_line: return "bad_request_line";
        case Fault::bad_method: return "bad_method";
        case Fault::unknown_method: return "unknown_method";
        case Fault::refused_method: return "refused_method";
        case Fault::bad_target: return "bad_target";
        case Fault::target_too_long: return "target_too_long";
        case Fault::bad_host: return "bad_host";
        case Fault::bad_expect: return "bad_expect";
        case Fault::websocket: return "websocket";
        case Fault::bad_status_line: return "bad_status_line";
        case Fault::unasked_upgrade: return "unasked_upgrade";
        case Fault::too_many_interims: return "too_many_interims";
    }
    return "?";
}

}  // namespace turnpike::http
