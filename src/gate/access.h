// Decides who may come in. Every request passes this check, whatever its route and method.
//
// First, the Host must be one of ours, which prevents DNS rebinding; a request with a valid key may
// name any Host. Second, if a browser sent the request for a web page, the page must be one of ours
// or have an allowed origin. Third, the caller must meet the rule of the route: with its key, or on
// a gate without keys by what it is (Sender).
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

/// Who may call a route. There is no default: a route without a rule does not compile.
enum class Rule : std::uint8_t {
    anybody,  // for routes that only say whether the gate is alive and ready
    job,      // sends a job: any valid key. If keys are not required, also pages of allowed origins
    member,   // any valid key; it sees only its own jobs
    admin,    // an admin key, or the command line. If keys are not required, every user is admin
              // whose request no proxy has forwarded
};

/// How the request reached us.
enum class Entrance : std::uint8_t {
    tcp,
    unix_socket,  // a program of our own user or root, most likely a proxy: it may speak for anybody,
                  // also if it does not say so
    command_line,  // our own command line, over the Unix socket (os/command_line.h)
};

/// Who sent a request, as far as its fields tell.
enum class Sender : std::uint8_t {
    user,          // a program, a page of the gate's own origin, or a person who opens an address
    allowed_page,  // a page whose origin is in `gate.allowed_origins`
    foreign_page,  // any other page
};

struct Caller {
    bool is_admin = false;
    const ApiKey* key = nullptr;  // nullptr without a valid key; valid until keys are read again
};

class AccessControl {
public:
    AccessControl(const GateConfig& config, const Address& bound);

    struct Keys {
        const KeyRing& ring;
        bool are_required = false;  // if true, only routes for `anybody` work without a key
    };
    /// Returns who calls, or the problem to answer if the caller may not use the route.
    [[nodiscard]] std::expected<Caller, Problem> check(const http::RequestHead& head,
                                                       Entrance entrance, Rule rule,
                                                       const Keys& keys) const;

    /// Returns the origin of the web page that sent the request, if that page may read the answer.
    /// Empty otherwise, also if no web page sent it.
    [[nodiscard]] std::string_view allowed_origin(const http::RequestHead& head) const;

    /// True for fields that carry a key of ours. The gate never passes them on to a worker.
    /// Authorization counts only while keys are required.
    [[nodiscard]] static bool is_key_field(std::string_view name, const Keys& keys);

private:
    [[nodiscard]] bool is_our_host(std::string_view host) const;
    [[nodiscard]] Sender sender_of(const http::RequestHead& head, const Keys& keys) const;
    [[nodiscard]] Sender sender_from(std::string_view origin, const http::RequestHead& head) const;
    [[nodiscard]] Sender sender_without_origin(const http::RequestHead& head) const;
    [[nodiscard]] bool is_allowed_origin(std::string_view origin) const;

    std::vector<std::string> hosts_;
    std::vector<std::string> origins_;
};

/// True if only this machine reaches the host: "localhost", or a loopback address.
bool is_loopback_host(std::string_view host);

/// Returns the name in "name:port", "[::1]:port" or "name", without brackets.
std::string_view name_in_host(std::string_view host);

}  // namespace turnpike
