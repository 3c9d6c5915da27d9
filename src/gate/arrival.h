// Turns the head of a request into a job: its pool, its priority, its timeout, and the fields that
// the worker gets.
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
    PoolId pool;  // if reads_model is set, the body's "model" may change it
    std::string_view target;
    Priority priority;
    Duration timeout = Duration::max();
    LaneId lane_wanted;
    bool is_aside = false;
    bool is_forwarded = false;  // came through a proxy, so the peer is not the client itself
    bool reads_model = false;   // the body's "model" is read to choose the pool
};

/// Why a request is refused or a job has no answer: the problem, and what is special about this
/// case.
struct Objection {
    Problem problem = Problem::malformed;
    std::string detail;
};

/// Returns the objection to a request that is not well-formed HTTP.
Objection objection_to(http::Fault fault);

/// Returns the names of the pools with commas between them, for messages.
std::string names_of(const std::vector<PoolConfig>& pools);

class RequestRouter {
public:
    explicit RequestRouter(const std::vector<PoolConfig>& pools);

    [[nodiscard]] std::expected<Arrival, Objection> route(const http::RequestHead& head) const;

    /// Returns the pool that serves this model, or the default pool. `model` is empty if the body
    /// names none.
    [[nodiscard]] std::expected<PoolId, Objection> pool_for_model(std::string_view model) const;

private:
    [[nodiscard]] std::expected<PoolId, Objection> pool_named(std::string_view name) const;
    [[nodiscard]] std::expected<PoolId, Objection> default_pool() const;
    [[nodiscard]] bool is_aside(const Arrival& arrival, const http::RequestHead& head) const;
    [[nodiscard]] std::expected<void, Objection> choose_pool(const http::RequestHead& head,
                                                             Arrival& arrival) const;
    [[nodiscard]] Objection no_pool(std::string_view why) const;

    const std::vector<PoolConfig>& pools_;
    PoolId default_pool_;      // none if there are several pools and no default
    PoolId first_model_pool_;  // the first pool that has `models`; none if no pool has any
};

struct Forwarded {
    const http::RequestHead& head;
    const AccessControl::Keys& keys;
    std::string_view client;  // the client's address; empty for the Unix socket
    std::string_view job;
};
/// Appends the fields that a worker gets: the client's end-to-end fields, except keys and
/// Turnpike-… fields, then the fields that the gate sets itself. The caller adds the framing when
/// the body is complete.
void append_forwarded_fields(std::string& out, const Forwarded& from);

}  // namespace turnpike
