// One request to a running gate over its Unix socket, and the whole answer. Blocks, but never longer
// than the timeout, whatever the gate does.
#pragma once

#include <cstddef>
#include <expected>
#include <string>

#include "base/bytes.h"
#include "base/time.h"
#include "http/message.h"

namespace turnpike {

struct ControlRequest {
    http::Method method = http::Method::get;
    std::string target;  // "/-/status"
};

struct ControlAnswer {
    int status = 200;
    std::string body;
};

struct ControlLimits {
    Duration timeout = 10s;  // for all of it
    Bytes body_max{16 * mebibyte.count};
};

/// An error is half a sentence with the gate as its subject: "did not answer within 10s".
[[nodiscard]] std::expected<ControlAnswer, std::string> ask(const std::string& socket_path,
                                                            const ControlRequest&,
                                                            const ControlLimits& = {});

}  // namespace turnpike
