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

std::string_view value_of(const http::RequestHead& head, std::string_view name) {
    const http::Field* field = http::find(head.fields, name);
    return field == nullptr ? std::string_view() : field->value;
}

/// Where the page is that made a browser send a request.
enum class PageSite : std::uint8_t {
    none,         // no page, or an old browser
    same_origin,  // the gate's own origin
    elsewhere,    // another origin, even if only its port differs (same-site)
};

/// True if the browser asks in advance for what the user may open later. A page of any origin can
/// order that, and Chromium then says "none" in Sec-Fetch-Site.
bool is_prefetch(const http::RequestHead& head) {
    return http::find(head.fields, "sec-purpose") != nullptr;
}

PageSite page_site(const http::RequestHead& head) {
    const http::Field* site = http::find(head.fields, "sec-fetch-site");
    if (site != nullptr && http::is_named(site->value, "same-origin")) return PageSite::same_origin;
    const bool is_none = site == nullptr || http::is_named(site->value, "none");
    return is_none && !is_prefetch(head) ? PageSite::none : PageSite::elsewhere;
}

/// True if the answer becomes the page in the browser's window, so that the user sees it and the
/// page that led there is gone.
bool is_opened_by_user(const http::RequestHead& head) {
    return (head.method == http::Method::get || head.method == http::Method::head) &&
           http::is_named(value_of(head, "sec-fetch-mode"), "navigate") &&
           http::is_named(value_of(head, "sec-fetch-dest"), "document") && !is_prefetch(head);
}

bool is_origin_of_host(std::string_view origin, std::string_view scheme, std::string_view host) {
    return origin.starts_with(scheme) && !host.empty() &&
           http::is_named(origin.substr(scheme.size()), host);
}

/// Returns "https://ui.example" for the URL "https://ui.example/page". Empty if it is not such a
/// URL.
std::string_view origin_in(std::string_view url) {
    constexpr std::string_view mark = "://";
    const std::size_t at = url.find(mark);
    return at == std::string_view::npos ? std::string_view()
                                        : url.substr(0, url.find_first_of("/?#", at + mark.size()));
}

/// On a gate without keys, whoever is no page may do everything. But a proxy may speak for somebody on
/// another machine. On the Unix socket every program counts as one, also if it does not say so:
/// nobody but our own user was meant to reach that socket.
std::expected<Caller, Problem> check_without_keys(const http::RequestHead& head, Sender sender,
                                                  Entrance entrance, Rule rule) {
    const bool is_proxied = entrance == Entrance::unix_socket || http::is_forwarded(head.fields);
    if (sender == Sender::user && !is_proxied) return Caller{.is_admin = true};
    if (rule == Rule::anybody || rule == Rule::job) return Caller{};
    return std::unexpected(Problem::not_permitted);
}

/// `key` may be nullptr if the rule is `anybody`.
std::expected<Caller, Problem> check_key(const ApiKey* key, Rule rule) {
    const Caller caller{.is_admin = key != nullptr && key->access == Access::admin, .key = key};
    if (rule == Rule::admin && !caller.is_admin) return std::unexpected(Problem::not_permitted);
    return caller;
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
    if (entrance == Entrance::command_line) return Caller{.is_admin = true};
    const auto presented = keys.are_required ? presented_key(head) : std::nullopt;
    const ApiKey* key = presented ? keys.ring.find(*presented) : nullptr;
    if (key == nullptr && !is_our_host(head.host)) return std::unexpected(Problem::foreign_host);
    const Sender sender = sender_of(head, keys);
    if (sender == Sender::foreign_page) return std::unexpected(Problem::foreign_origin);
    if (!keys.are_required) return check_without_keys(head, sender, entrance, rule);
    if (key == nullptr && rule != Rule::anybody)
        return std::unexpected(presented ? Problem::wrong_key : Problem::no_key);
    return check_key(key, rule);
}

/// Without required keys, tells pages from users. With them, the key says who the caller is, and a
/// browser adds none to a request that the page did not make by script, with its Origin.
Sender AccessControl::sender_of(const http::RequestHead& head, const Keys& keys) const {
    const http::Field* origin = http::find(head.fields, "origin");
    if (origin != nullptr) return sender_from(origin->value, head);
    return keys.are_required ? Sender::user : sender_without_origin(head);
}

Sender AccessControl::sender_from(std::string_view origin, const http::RequestHead& head) const {
    const PageSite site = page_site(head);
    if (is_origin_of_host(origin, "http://", head.host) && site != PageSite::elsewhere)
        return Sender::user;
    // Such a page came through a proxy that speaks TLS. The browser vouches for it.
    if (is_origin_of_host(origin, "https://", head.host) && site == PageSite::same_origin)
        return Sender::user;
    return is_allowed_origin(origin) ? Sender::allowed_page : Sender::foreign_page;
}

/// A browser sends no Origin with what a page only embeds (images, scripts, frames) or leads to.
/// Then Sec-Fetch-Site says whether the page has our origin. Programs do not send that field.
Sender AccessControl::sender_without_origin(const http::RequestHead& head) const {
    if (page_site(head) != PageSite::elsewhere || is_opened_by_user(head)) return Sender::user;
    return is_allowed_origin(origin_in(value_of(head, "referer"))) ? Sender::allowed_page
                                                                   : Sender::foreign_page;
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

bool AccessControl::is_allowed_origin(std::string_view origin) const {
    return std::ranges::any_of(
        origins_, [&](const std::string& allowed) { return http::is_named(origin, allowed); });
}

}  // namespace turnpike
