// Sends one request to a running gate over its Unix socket and reads the whole answer. Blocks, but
// never longer than the timeout, whatever the gate does.
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
    Duration timeout = 10s;  // for the whole exchange
    Bytes body_max{16 * mebibyte.count};
};

/// An error is a phrase that continues "the gate …": "did not answer within 10s".
[[nodiscard]] std::expected<ControlAnswer, std::string> ask(const std::string& socket_path,
                                                            const ControlRequest&,
                                                            const ControlLimits& = {});

}  // namespace turnpike
