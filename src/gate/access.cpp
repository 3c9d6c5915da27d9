#include "gate/access.h"

#include <algorithm>
#include <optional>

#include <boost/asio/ip/address.hpp>

#include "http/fields.h"
#include "http/forwarded.h"

namespace turnpike {

namespace {

/// Returns the key that came with the request, valid or not.
std::optional<std::string_view> presented_key(const http::RequestHead& head) {
    if (const http::Field* field = http::find(head.fields, "turnpike-key")) return field->value;
    const http::Field* field = http::find(head.fields, "authorization");
    if (field == nullptr) return std::nullopt;
    constexpr std::string_view scheme = "bearer ";
    if (!http::is_named(field->value.substr(0, scheme.size()), scheme)) return std::nullopt;
    std::string_view key = field->value.substr(scheme.size());
    while (key.starts_with(' ')) key.remove_prefix(1);
    return key;
}

}  // namespace

bool is_loopback_host(std::string_view host) {
    if (http::is_named(host, "localhost")) return true;
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(host, error);
    return !error && address.is_loopback();
}

std::string_view name_in_host(std::string_view host) {
    if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
    return host.substr(0, host.find(':'));
}

AccessControl::AccessControl(const GateConfig& config, const Address& bound)
    : hosts_(config.allowed_hosts), origins_(config.allowed_origins) {
    hosts_.push_back(bound.host);
}

std::expected<Caller, Problem> AccessControl::check(const http::RequestHead& head,
                                                    Entrance entrance, Rule rule,
                                                    const Keys& keys) const {
    if (entrance == Entrance::unix_socket && !http::is_forwarded(head.fields))
        return Caller{.is_admin = true};
    Caller caller;
    const auto presented = keys.are_required ? presented_key(head) : std::nullopt;
    if (presented) caller.key = keys.ring.find(*presented);
    if (caller.key == nullptr && !is_our_host(head.host))
        return std::unexpected(Problem::foreign_host);
    const http::Field* origin = http::find(head.fields, "origin");
    if (origin != nullptr && !is_allowed_origin(origin->value) &&
        !is_our_origin(origin->value, head.host))
        return std::unexpected(Problem::foreign_origin);
    caller.is_admin =
        !keys.are_required || (caller.key != nullptr && caller.key->access == Access::admin);
    if (rule == Rule::anybody) return caller;
    if (keys.are_required && caller.key == nullptr)
        return std::unexpected(presented ? Problem::wrong_key : Problem::no_key);
    if (rule == Rule::admin && !caller.is_admin) return std::unexpected(Problem::not_permitted);
    return caller;
}

std::string_view AccessControl::allowed_origin(const http::RequestHead& head) const {
    const http::Field* origin = http::find(head.fields, "origin");
    return origin != nullptr && is_allowed_origin(origin->value) ? origin->value
                                                                 : std::string_view();
}

bool AccessControl::is_key_field(std::string_view name, const Keys& keys) {
    return http::is_named(name, "turnpike-key") ||
           (keys.are_required && http::is_named(name, "authorization"));
}

bool AccessControl::is_our_host(std::string_view host) const {
    if (host.empty()) return true;  // HTTP/1.0 without a Host: not a browser
    const std::string_view name = name_in_host(host);
    const bool is_known = std::ranges::any_of(
        hosts_, [&](const std::string& ours) { return http::is_named(name, ours); });
    return is_known || is_loopback_host(name);
}

bool AccessControl::is_our_origin(std::string_view origin, std::string_view host) const {
    constexpr std::string_view scheme = "http://";
    return origin.starts_with(scheme) && !host.empty() &&
           http::is_named(origin.substr(scheme.size()), host);
}

bool AccessControl::is_allowed_origin(std::string_view origin) const {
    return std::ranges::any_of(
        origins_, [&](const std::string& allowed) { return http::is_named(origin, allowed); });
}

}  // namespace turnpike
