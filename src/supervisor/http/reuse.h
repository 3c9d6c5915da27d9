// Says after which exchanges a connection to a worker may carry another request: only after those
// that can't leave anything behind. What is left behind becomes the answer to somebody else's
// request. In doubt the connection is closed.
//
// What the gate can't see is whether the worker has read a request's body. HTTP demands it (RFC 9112,
// section 9.3), but many servers leave a body unread where they expect none, and then take it for the
// next request. So a body counts as read only if it was to be expected, and if the answer is a
// success.
#pragma once

#include <cstdint>

#include "http/message.h"

namespace turnpike {

/// What matters of a request.
struct Asked {
    http::Method method = http::Method::get;
    std::uint64_t body_size = 0;
};

/// Returns false if any answer to such a request may leave something behind. Then the request says
/// `Connection: close`, so that the worker runs nothing that it finds in the body.
[[nodiscard]] bool may_leave_nothing(const Asked& asked);

/// Returns true if nothing is left of the exchange once this answer is over.
[[nodiscard]] bool leaves_nothing(const Asked& asked, const http::ResponseHead& answer);

}  // namespace turnpike
