// Every combination of what access depends on: rule, method, Origin, Sec-Fetch-*, Referer, a proxy,
// keys and entrance. What must come out is computed by a second, plainer statement of the rules (expected()),
// which works on the names of the cases and never looks at the fields' text.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "gate/access.h"
#include "tests/unit/gate/parsed_request.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

template <class Case>
struct Variant {
    Case is;
    std::string_view text;  // request line or fields
};

enum class From { nowhere, own, own_by_tls, allowed, foreign };
enum class Site { absent, none, same_origin, same_site, cross_site, unknown };
enum class Fetch { absent, top_window, prefetch, frame, image, script };
enum class Way { direct, proxied };
enum class Key { not_needed, missing, wrong, plain, admin };

constexpr std::array methods{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"};
constexpr std::array rules{Rule::anybody, Rule::job, Rule::member, Rule::admin};
constexpr std::array entrances{Entrance::tcp, Entrance::unix_socket, Entrance::command_line};
constexpr std::array all_keys{Key::not_needed, Key::missing, Key::wrong, Key::plain, Key::admin};
constexpr std::array<Variant<From>, 8> origins{{
    {From::nowhere, ""},
    {From::own, "Origin: http://localhost:8000\r\n"},
    {From::own_by_tls, "Origin: https://localhost:8000\r\n"},
    {From::allowed, "Origin: https://ui.example\r\n"},
    {From::foreign, "Origin: https://ui.example.evil.example\r\n"},
    {From::foreign, "Origin: http://localhost:8001\r\n"},
    {From::foreign, "Origin: null\r\n"},
    {From::foreign, "Origin: \r\n"},
}};
constexpr std::array<Variant<Site>, 7> sites{{
    {Site::absent, ""},
    {Site::none, "Sec-Fetch-Site: none\r\n"},
    {Site::same_origin, "Sec-Fetch-Site: same-origin\r\n"},
    {Site::same_site, "Sec-Fetch-Site: same-site\r\n"},
    {Site::cross_site, "Sec-Fetch-Site: cross-site\r\n"},
    {Site::unknown, "Sec-Fetch-Site: \r\n"},
    {Site::unknown, "Sec-Fetch-Site: none, same-origin\r\n"},
}};
constexpr std::array<Variant<Fetch>, 6> fetches{{
    {Fetch::absent, ""},
    {Fetch::top_window, "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"},
    {Fetch::prefetch,
     "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\nSec-Purpose: prefetch;prerender\r\n"},
    {Fetch::frame, "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n"},
    {Fetch::image, "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n"},
    {Fetch::script, "Sec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n"},
}};
constexpr std::array<Variant<From>, 8> referers{{
    {From::nowhere, ""},
    {From::own, "Referer: http://localhost:8000/page\r\n"},
    {From::allowed, "Referer: https://ui.example/page?x#y\r\n"},
    {From::allowed, "Referer: https://ui.example\r\n"},
    {From::foreign, "Referer: https://evil.example/https://ui.example/\r\n"},
    {From::foreign, "Referer: https://ui.example.evil.example/\r\n"},
    {From::foreign, "Referer: https://ui.example@evil.example/\r\n"},
    {From::foreign, "Referer: https://\r\n"},
}};

constexpr std::array<Variant<Way>, 2> ways{{
    {Way::direct, ""},
    {Way::proxied, "X-Forwarded-For: 127.0.0.1\r\n"},
}};

struct Request {
    bool is_get_or_head = false;
    From origin = From::nowhere;
    Site site = Site::absent;
    Fetch fetch = Fetch::absent;
    From referer = From::nowhere;
    Way way = Way::direct;
};

struct Outcome {
    std::optional<Problem> problem;
    bool is_admin = false;
    friend bool operator==(const Outcome&, const Outcome&) = default;
};

enum class Page { none, allowed, foreign };

Page page_of(const Request& request, Key key) {
    const bool is_elsewhere =
        request.site == Site::same_site || request.site == Site::cross_site ||
        request.site == Site::unknown ||
        (request.fetch == Fetch::prefetch && request.site != Site::same_origin);
    switch (request.origin) {
        case From::own: return is_elsewhere ? Page::foreign : Page::none;
        case From::own_by_tls:
            return request.site == Site::same_origin ? Page::none : Page::foreign;
        case From::allowed: return Page::allowed;
        case From::foreign: return Page::foreign;
        case From::nowhere: break;
    }
    if (!is_elsewhere || key != Key::not_needed) return Page::none;
    if (request.is_get_or_head && request.fetch == Fetch::top_window) return Page::none;
    return request.referer == From::allowed ? Page::allowed : Page::foreign;
}

Outcome expected(const Request& request, Rule rule, Key key, Entrance entrance) {
    if (entrance == Entrance::command_line) return {.problem = {}, .is_admin = true};
    const Page page = page_of(request, key);
    if (page == Page::foreign) return {.problem = Problem::foreign_origin};
    if (key == Key::not_needed && page == Page::none && entrance == Entrance::tcp &&
        request.way == Way::direct)
        return {.problem = {}, .is_admin = true};
    if (rule == Rule::anybody) return {.problem = {}, .is_admin = key == Key::admin};
    if (key == Key::missing) return {.problem = Problem::no_key};
    if (key == Key::wrong) return {.problem = Problem::wrong_key};
    if (key == Key::admin) return {.problem = {}, .is_admin = true};
    const bool may = rule == Rule::job || (key == Key::plain && rule == Rule::member);
    return {.problem = may ? std::nullopt : std::optional(Problem::not_permitted)};
}

class AccessProduct : public testing::Test {
protected:
    AccessProduct() {
        const std::string file = folder_.file("keys");
        plain_ = new_key(file, "alice", Access::plain).value_or("");
        admin_ = new_key(file, "root", Access::admin).value_or("");
        ring_ = KeyRing(read_keys(file).value_or(std::vector<ApiKey>()));
    }

    [[nodiscard]] std::string field_of(Key key) const {
        switch (key) {
            case Key::not_needed:
            case Key::missing: return "";
            case Key::wrong: return "Turnpike-Key: " + plain_.substr(1) + "\r\n";
            case Key::plain: return "Turnpike-Key: " + plain_ + "\r\n";
            case Key::admin: return "Turnpike-Key: " + admin_ + "\r\n";
        }
        return "";
    }

    void check(const std::string& text, const Request& request) {
        for (const Key key : all_keys) {
            const std::string whole = text + field_of(key);
            const ParsedRequest parsed(whole);
            for (const Rule rule : rules)
                for (const Entrance entrance : entrances) {
                    const auto caller =
                        access_.check(parsed.head(), entrance, rule,
                                      {.ring = ring_, .are_required = key != Key::not_needed});
                    const Outcome got{
                        .problem = caller ? std::nullopt : std::optional(caller.error()),
                        .is_admin = caller && caller->is_admin};
                    ++checked_;
                    if (got == expected(request, rule, key, entrance)) continue;
                    ADD_FAILURE() << whole << "rule " << static_cast<int>(rule) << ", key "
                                  << static_cast<int>(key) << ": "
                                  << (caller ? "let in" : slug_of(caller.error()));
                }
        }
    }

    TemporaryFolder folder_;
    KeyRing ring_;
    std::string plain_;
    std::string admin_;
    GateConfig config_{.allowed_origins = {"https://ui.example"}};
    AccessControl access_{config_, Address{"127.0.0.1", 8000}};
    std::size_t checked_ = 0;
};

TEST_F(AccessProduct, IsAsExpectedForEveryCombination) {
    for (const std::string_view method : methods)
        for (const auto& origin : origins)
            for (const auto& site : sites)
                for (const auto& fetch : fetches)
                    for (const auto& referer : referers)
                        for (const auto& way : ways) {
                            std::string text(method);
                            text.append(" / HTTP/1.1\r\nHost: localhost:8000\r\n");
                            for (const std::string_view fields :
                                 {origin.text, site.text, fetch.text, referer.text, way.text})
                                text.append(fields);
                            check(text, {.is_get_or_head = method == "GET" || method == "HEAD",
                                         .origin = origin.is,
                                         .site = site.is,
                                         .fetch = fetch.is,
                                         .referer = referer.is,
                                         .way = way.is});
                            ASSERT_FALSE(HasFailure());
                        }
    EXPECT_EQ(checked_, methods.size() * origins.size() * sites.size() * fetches.size() *
                            referers.size() * ways.size() * rules.size() * entrances.size() *
                            all_keys.size());
}

}  // namespace
}  // namespace turnpike
