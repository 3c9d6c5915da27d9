// From the head of a request to a job: which pool, how urgent, for how long, and what the worker
// shall get to read.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "core/words.h"
#include "gate/access.h"
#include "gate/problem.h"
#include "http/fault.h"
#include "http/message.h"

namespace turnpike {

struct Arrival {
    PoolId pool;  // with reads_model: until the body tells better
    std::string_view target;
    Priority priority;
    Duration timeout = Duration::max();
    LaneId lane_wanted;
    bool is_aside = false;
    bool is_forwarded = false;  // by a proxy: who sent it is not who connected
    bool reads_model = false;   // the body's "model" picks the pool
};

struct Objection {
    Problem problem = Problem::malformed;
    std::string detail;
};

/// To a request that is not well-formed.
Objection objection_to(http::Fault fault);

/// Returns the names of the pools with commas between them, for messages.
std::string names_of(const std::vector<PoolConfig>& pools);

class RequestRouter {
public:
    explicit RequestRouter(const std::vector<PoolConfig>& pools);

    [[nodiscard]] std::expected<Arrival, Objection> route(const http::RequestHead& head) const;

    /// The pool for a body's "model" (empty: it has none).
    [[nodiscard]] std::expected<PoolId, Objection> pool_for_model(std::string_view model) const;

private:
    [[nodiscard]] std::expected<PoolId, Objection> pool_named(std::string_view name) const;
    [[nodiscard]] std::expected<PoolId, Objection> default_pool() const;
    [[nodiscard]] bool is_aside(const Arrival& arrival, const http::RequestHead& head) const;
    [[nodiscard]] std::expected<void, Objection> choose_pool(const http::RequestHead& head,
                                                             Arrival& arrival) const;
    [[nodiscard]] Objection no_pool(std::string_view why) const;

    const std::vector<PoolConfig>& pools_;
    PoolId default_pool_;      // none: there is no default
    PoolId first_model_pool_;  // the first pool that has `models`; none: nobody reads bodies
};

/// What a worker gets of the client's fields: all that are end-to-end, without keys and without
/// Turnpike's own; then ours. The framing is added when the body is complete.
struct Forwarded {
    const http::RequestHead& head;
    const AccessControl::Keys& keys;
    std::string_view client;  // address; empty: none to tell
    std::string_view job;
};
void append_forwarded_fields(std::string& out, const Forwarded& from);

}  // namespace turnpike
