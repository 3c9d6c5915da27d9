#include "gate/access.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/unit/gate/parsed_request.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using Checked = std::expected<Caller, Problem>;

/// A gate at 10.0.0.5, with one host and one origin allowed, and two keys.
class AccessControlTest : public testing::Test {
protected:
    AccessControlTest() {
        plain_ = new_key(folder_.file("keys"), "alice", Access::plain).value_or("");
        admin_ = new_key(folder_.file("keys"), "root", Access::admin).value_or("");
        ring_ = KeyRing(read_keys(folder_.file("keys")).value_or(std::vector<ApiKey>()));
        EXPECT_EQ(ring_.keys().size(), 2U);
    }

    [[nodiscard]] Checked check(std::string_view lines, Rule rule = Rule::member,
                                Entrance entrance = Entrance::tcp) const {
        const ParsedRequest request(lines);
        return access_.check(request.head(), entrance, rule,
                             {.ring = ring_, .are_required = keys_required_});
    }
    [[nodiscard]] std::optional<Problem> problem(std::string_view lines, Rule rule = Rule::member,
                                                 Entrance entrance = Entrance::tcp) const {
        const Checked checked = check(lines, rule, entrance);
        return checked ? std::nullopt : std::optional(checked.error());
    }
    [[nodiscard]] std::optional<Problem> of_host(std::string_view host) const {
        return problem("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n");
    }
    [[nodiscard]] std::optional<Problem> of_origin(std::string_view origin,
                                                   std::string_view host = "localhost:8000") const {
        return problem("GET / HTTP/1.1\r\nHost: " + std::string(host) +
                       "\r\nOrigin: " + std::string(origin) + "\r\n");
    }

    TemporaryFolder folder_;
    KeyRing ring_;
    std::string plain_;
    std::string admin_;
    bool keys_required_ = false;
    GateConfig config_{.allowed_hosts = {"gpu.example"}, .allowed_origins = {"https://ui.example"}};
    AccessControl access_{config_, Address{"10.0.0.5", 8000}};
};

TEST_F(AccessControlTest, LetsInByLoopbackNamesOnAnyPort) {
    for (const std::string host : {"localhost", "localhost:8000", "localhost:9", "LocalHost:80",
                                   "127.0.0.1", "127.0.0.1:1234", "[::1]", "[::1]:8000"})
        EXPECT_EQ(of_host(host), std::nullopt) << host;
}

TEST_F(AccessControlTest, LetsInByTheBoundAddressAndAllowedNames) {
    for (const std::string host : {"10.0.0.5", "10.0.0.5:8000", "gpu.example", "GPU.example:80"})
        EXPECT_EQ(of_host(host), std::nullopt) << host;
}

TEST_F(AccessControlTest, RefusesForeignHosts) {
    for (const std::string host :
         {"evil.example", "localhost.evil.example", "evil.localhost", "127.0.0.1.evil.example",
          "10.0.0.50", "10.0.0.5.nip.io", "gpu.example.evil.example", "xgpu.example", "[::2]",
          "[::1:1]:8000", "0.0.0.0", "1", "127.1.evil.example"})
        EXPECT_EQ(of_host(host), Problem::foreign_host) << host;
}

TEST_F(AccessControlTest, ChecksTheHostOfAnAbsoluteTarget) {
    EXPECT_EQ(problem("GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n"),
              Problem::foreign_host);
    EXPECT_EQ(problem("GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n"), std::nullopt);
    EXPECT_EQ(problem("GET http://evil.example/ HTTP/1.0\r\n"), Problem::foreign_host);
}

TEST_F(AccessControlTest, AllowsARequestWithoutAHost) {
    EXPECT_EQ(problem("GET / HTTP/1.0\r\n"), std::nullopt);
}

TEST_F(AccessControlTest, ChecksTheHostWhateverTheRule) {
    for (const Rule rule : {Rule::anybody, Rule::job, Rule::member, Rule::admin})
        EXPECT_EQ(problem("GET / HTTP/1.1\r\nHost: evil.example\r\n", rule), Problem::foreign_host);
}

TEST_F(AccessControlTest, LetsPagesOfItsOwnOriginIn) {
    EXPECT_EQ(of_origin("http://localhost:8000"), std::nullopt);
    EXPECT_EQ(of_origin("http://LOCALHOST:8000"), std::nullopt);
    EXPECT_EQ(of_origin("http://[::1]:8000", "[::1]:8000"), std::nullopt);
    const ParsedRequest request(get("Origin: http://localhost:8000\r\n"));
    EXPECT_EQ(access_.allowed_origin(request.head()), "") << "nothing to allow";
}

TEST_F(AccessControlTest, RefusesPagesOfOtherOrigins) {
    for (const std::string origin :
         {"http://localhost.evil.example", "http://localhost.evil.example:8000",
          "http://localhost:8001", "http://localhost", "https://localhost:8000", "null", "",
          "localhost:8000", "http://evil.example", "https://ui.example.evil.example",
          "http://ui.example", "https://ui.example:8443", "http://localhost:8000/",
          "http://evil.example http://localhost:8000", "file://"})
        EXPECT_EQ(of_origin(origin), Problem::foreign_origin) << origin;
}

TEST_F(AccessControlTest, TellsTheAllowedOrigin) {
    const ParsedRequest request(get("Origin: https://ui.example\r\n"));
    EXPECT_TRUE(access_.check(request.head(), Entrance::tcp, Rule::job, {.ring = ring_}));
    EXPECT_EQ(access_.allowed_origin(request.head()), "https://ui.example");
}

TEST_F(AccessControlTest, LetsPagesOfAllowedOriginsOnlySendJobsIfThereAreNoKeys) {
    const std::string page = get("Origin: https://ui.example\r\n");
    EXPECT_EQ(problem(page, Rule::anybody), std::nullopt);
    ASSERT_EQ(problem(page, Rule::job), std::nullopt);
    EXPECT_FALSE(check(page, Rule::job)->is_admin);
    EXPECT_EQ(problem(page, Rule::member), Problem::not_permitted);
    EXPECT_EQ(problem(page, Rule::admin), Problem::not_permitted);
}

TEST_F(AccessControlTest, LetsTheKeyDecideWhatPagesOfAllowedOriginsMayDo) {
    keys_required_ = true;
    const std::string page = get("Origin: https://ui.example\r\nTurnpike-Key: ");
    EXPECT_EQ(problem(page + plain_ + "\r\n", Rule::member), std::nullopt);
    EXPECT_EQ(problem(page + plain_ + "\r\n", Rule::admin), Problem::not_permitted);
    EXPECT_EQ(problem(page + admin_ + "\r\n", Rule::admin), std::nullopt);
}

TEST_F(AccessControlTest, RefusesWhatPagesOfOtherOriginsEmbed) {
    for (const std::string site : {"cross-site", "same-site", "x"})
        EXPECT_EQ(problem(get("Sec-Fetch-Site: " + site + "\r\n"), Rule::job),
                  Problem::foreign_origin);
    EXPECT_EQ(problem(get("Sec-Fetch-Mode: cors\r\n"), Rule::admin), std::nullopt)
        << "fetch() of Node.js, which sends no Sec-Fetch-Site";
}

TEST_F(AccessControlTest, NeedsNoKeyIfThereAreNone) {
    for (const Rule rule : {Rule::anybody, Rule::member, Rule::admin}) {
        const Checked caller = check(get(), rule);
        ASSERT_TRUE(caller);
        EXPECT_TRUE(caller->is_admin);
        EXPECT_EQ(caller->key, nullptr);
    }
}

TEST_F(AccessControlTest, LetsWhatAProxyForwardsOnlySendJobsIfThereAreNoKeys) {
    for (const std::string mark :
         {"Forwarded: for=unknown\r\n", "X-Forwarded-For: 127.0.0.1\r\n", "X-Forwarded-For: \r\n",
          "x-real-ip: 10.1.1.1\r\n", "Via: 1.1 proxy\r\n"}) {
        for (const Rule rule : {Rule::anybody, Rule::job}) {
            const Checked caller = check(get(mark), rule);
            ASSERT_TRUE(caller) << mark;
            EXPECT_FALSE(caller->is_admin) << mark;
        }
        EXPECT_EQ(problem(get(mark), Rule::member), Problem::not_permitted) << mark;
        EXPECT_EQ(problem(get(mark), Rule::admin), Problem::not_permitted) << mark;
        EXPECT_EQ(problem(get(mark), Rule::admin, Entrance::command_line), std::nullopt) << mark;
    }
}

TEST_F(AccessControlTest, IgnoresPresentedKeysIfThereAreNone) {
    EXPECT_EQ(problem(get("Authorization: Bearer of-the-worker\r\n")), std::nullopt);
    EXPECT_EQ(problem("GET / HTTP/1.1\r\nHost: evil.example\r\nTurnpike-Key: " + admin_ + "\r\n"),
              Problem::foreign_host);
}

TEST_F(AccessControlTest, AsksForAKey) {
    keys_required_ = true;
    EXPECT_EQ(problem(get(), Rule::anybody), std::nullopt);
    EXPECT_EQ(problem(get(), Rule::member), Problem::no_key);
    EXPECT_EQ(problem(get(), Rule::admin), Problem::no_key);
    EXPECT_EQ(problem(get("Authorization: Basic YTpi\r\n")), Problem::no_key);
    EXPECT_EQ(problem(get("Authorization: Bearer\r\n")), Problem::no_key);
    EXPECT_FALSE(check(get(), Rule::anybody)->is_admin);
}

TEST_F(AccessControlTest, TakesAKeyFromEitherField) {
    keys_required_ = true;
    for (const std::string field :
         {"Authorization: Bearer ", "authorization: bearer ", "Authorization: BEARER   ",
          "Turnpike-Key: ", "turnpike-key: "}) {
        const Checked caller = check(get(field + plain_ + "\r\n"));
        ASSERT_TRUE(caller) << field;
        ASSERT_NE(caller->key, nullptr) << field;
        EXPECT_EQ(caller->key->name, "alice");
        EXPECT_FALSE(caller->is_admin);
    }
}

TEST_F(AccessControlTest, RefusesWrongKeys) {
    keys_required_ = true;
    for (const std::string& key : {std::string("guess"), plain_ + "x", plain_.substr(1),
                                   std::string(), std::string(5000, 'k')}) {
        EXPECT_EQ(problem(get("Turnpike-Key: " + key + "\r\n")), Problem::wrong_key) << key;
        EXPECT_EQ(problem(get("Turnpike-Key: " + key + "\r\n"), Rule::admin), Problem::wrong_key);
    }
    EXPECT_EQ(problem(get("Turnpike-Key: guess\r\nAuthorization: Bearer " + plain_ + "\r\n")),
              Problem::wrong_key)
        << "the first of the two decides";
}

TEST_F(AccessControlTest, LetsOnlyAdminsThroughToAdminRoutes) {
    keys_required_ = true;
    EXPECT_EQ(problem(get("Turnpike-Key: " + plain_ + "\r\n"), Rule::admin),
              Problem::not_permitted);
    const Checked caller = check(get("Turnpike-Key: " + admin_ + "\r\n"), Rule::admin);
    ASSERT_TRUE(caller);
    EXPECT_TRUE(caller->is_admin);
}

TEST_F(AccessControlTest, AllowsAnyHostWithAValidKey) {
    keys_required_ = true;
    const std::string foreign = "GET / HTTP/1.1\r\nHost: gpu.far.example\r\n";
    EXPECT_EQ(problem(foreign + "Turnpike-Key: " + plain_ + "\r\n"), std::nullopt);
    EXPECT_EQ(problem(foreign + "Turnpike-Key: guess\r\n"), Problem::foreign_host);
    EXPECT_EQ(problem(foreign), Problem::foreign_host);
}

TEST_F(AccessControlTest, ChecksTheOriginEvenWithAValidKey) {
    keys_required_ = true;
    EXPECT_EQ(problem(get("Origin: http://evil.example\r\nTurnpike-Key: " + admin_ + "\r\n")),
              Problem::foreign_origin);
}

TEST_F(AccessControlTest, TrustsTheCommandLine) {
    keys_required_ = true;
    const std::string foreign =
        "GET / HTTP/1.1\r\nHost: whatever.example\r\nOrigin: http://evil.example\r\n";
    for (const Rule rule : {Rule::anybody, Rule::member, Rule::admin}) {
        const Checked caller = check(foreign, rule, Entrance::command_line);
        ASSERT_TRUE(caller);
        EXPECT_TRUE(caller->is_admin);
    }
}

TEST_F(AccessControlTest, DoesNotTakeAProxyForTheCommandLine) {
    keys_required_ = true;
    for (const std::string mark :
         {"", "Forwarded: for=unknown\r\n", "X-Forwarded-For: 10.1.1.1\r\n",
          "x-real-ip: 10.1.1.1\r\n", "Via: 1.1 proxy\r\n"}) {
        const auto problem = [&](const std::string& fields, Rule rule) {
            const Checked caller = check(fields, rule, Entrance::unix_socket);
            return caller ? std::nullopt : std::optional(caller.error());
        };
        EXPECT_EQ(problem(get(mark), Rule::member), Problem::no_key) << mark;
        EXPECT_EQ(problem(get(mark + "Turnpike-Key: " + plain_ + "\r\n"), Rule::admin),
                  Problem::not_permitted);
        EXPECT_EQ(problem(get(mark + "Turnpike-Key: " + admin_ + "\r\n"), Rule::admin),
                  std::nullopt);
        EXPECT_EQ(problem("GET / HTTP/1.1\r\nHost: evil.example\r\n" + mark, Rule::anybody),
                  Problem::foreign_host);
    }
}

TEST_F(AccessControlTest, LetsAProxyOnTheUnixSocketOnlySendJobsIfThereAreNoKeys) {
    for (const std::string mark : {"", "X-Forwarded-For: 10.1.1.1\r\n", "Via: 1.1 proxy\r\n"}) {
        for (const Rule rule : {Rule::anybody, Rule::job}) {
            const Checked caller = check(get(mark), rule, Entrance::unix_socket);
            ASSERT_TRUE(caller) << mark;
            EXPECT_FALSE(caller->is_admin) << mark;
        }
        for (const Rule rule : {Rule::member, Rule::admin}) {
            const Checked caller = check(get(mark), rule, Entrance::unix_socket);
            ASSERT_FALSE(caller) << mark;
            EXPECT_EQ(caller.error(), Problem::not_permitted) << mark;
        }
    }
}

TEST_F(AccessControlTest, KnowsWhichFieldsCarryKeys) {
    const AccessControl::Keys with{.ring = ring_, .are_required = true};
    const AccessControl::Keys without{.ring = ring_, .are_required = false};
    EXPECT_TRUE(AccessControl::is_key_field("TURNPIKE-KEY", with));
    EXPECT_TRUE(AccessControl::is_key_field("Turnpike-Key", without));
    EXPECT_TRUE(AccessControl::is_key_field("Authorization", with));
    EXPECT_FALSE(AccessControl::is_key_field("Authorization", without)) << "it is the worker's";
    EXPECT_FALSE(AccessControl::is_key_field("Cookie", with));
}

TEST(NameInHost, IsWithoutPortAndBrackets) {
    EXPECT_EQ(name_in_host("a.example:80"), "a.example");
    EXPECT_EQ(name_in_host("a.example"), "a.example");
    EXPECT_EQ(name_in_host("[::1]:80"), "::1");
    EXPECT_EQ(name_in_host("[::1]"), "::1");
    EXPECT_EQ(name_in_host(""), "");
    EXPECT_EQ(name_in_host("["), "");
}

}  // namespace
}  // namespace turnpike
