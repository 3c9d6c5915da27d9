// Who may come in: the one choke point that every request passes, whatever its route and method.
//
// In this order: the Host must be one of ours (against DNS rebinding; a valid key in a header
// stands in for it), the Origin must be absent, the same as the Host, or allowed (against other web
// pages), and then the route's rule is held against the caller.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "gate/keys.h"
#include "gate/problem.h"
#include "http/message.h"

namespace turnpike {

/// What a route asks of its caller. There is no default: a route without a rule does not compile.
enum class Rule : std::uint8_t {
    anybody,  // says that the gate lives, and nothing else
    member,   // any valid key; jobs of others stay hidden
    admin,    // an admin key, or the command line
};

/// By which door the request came.
enum class Transport : std::uint8_t {
    tcp,
    unix_socket,  // the command line: the peer's user was checked
};

struct Caller {
    bool is_admin = false;
    const ApiKey* key = nullptr;  // valid until the keys are read again
};

class AccessControl {
public:
    AccessControl(const GateConfig& config, const Address& bound);

    /// Who calls, or why it may not. `keys_required`: without a key nobody gets past `anybody`.
    struct Keys {
        const KeyRing& ring;
        bool are_required = false;
    };
    [[nodiscard]] std::expected<Caller, Problem> check(const http::RequestHead& head,
                                                       Transport transport, Rule rule,
                                                       const Keys& keys) const;

    /// The origin of a web page that may read the answer; empty: no page asks, or it may not.
    [[nodiscard]] std::string_view allowed_origin(const http::RequestHead& head) const;

    /// The fields that carry keys: never passed on while there are any.
    [[nodiscard]] static bool is_key_field(std::string_view name, const Keys& keys);

private:
    [[nodiscard]] bool is_our_host(std::string_view host) const;
    [[nodiscard]] bool is_our_origin(std::string_view origin, std::string_view host) const;
    [[nodiscard]] bool is_allowed_origin(std::string_view origin) const;

    std::vector<std::string> hosts_;
    std::vector<std::string> origins_;
};

/// Whether only this machine reaches that host: "localhost", or a loopback address.
bool is_loopback_host(std::string_view host);

/// The name in "name:port", "[::1]:port", "name"; without brackets.
std::string_view name_in_host(std::string_view host);

}  // namespace turnpike
