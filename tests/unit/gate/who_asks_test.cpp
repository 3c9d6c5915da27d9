// Whose job a request becomes behind a proxy, what it may then read, and a key that asks too often.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/gate/gate_fixture.h"

namespace turnpike {
namespace {

std::string get(std::string_view fields = {}) {
    return "GET /x HTTP/1.1\r\nHost: localhost\r\n" + std::string(fields) + "\r\n";
}

Config behind_proxies(ProxyTrust trust) {
    Config config{.pools = {PoolConfig{
                      .name = "only",
                      .worker = {.model = {.kind = ModelChoice::Kind::python, .path = "/m.py"}}}}};
    config.gate.trusted_proxies = std::move(trust);
    return config;
}

struct Behind : GateFixture {
    explicit Behind(ProxyTrust trust) : GateFixture(behind_proxies(std::move(trust))) {
        lanes.resize(1);
    }
    explicit Behind(std::string_view network)
        : Behind(ProxyTrust{.networks = {*parse_network(network)}}) {}

    Client& ask_at(std::string address, std::string_view text, Entrance entrance = Entrance::tcp) {
        Client& client = connect(entrance, std::move(address));
        client.listen();
        client.say(text);
        return client;
    }
    /// Returns what the status and the jobs say, as the command line sees it.
    std::string page(std::string_view target) {
        Client& client = ask_at({},
                                "GET " + std::string(target) +
                                    " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                                Entrance::command_line);
        EXPECT_TRUE(loop.run_until([&] { return client.is_over; }));
        return client.got;
    }
    /// Returns what the client reads if its job fails with these words.
    std::string read_of_failure(Client& client) {
        queued()->attempt.trouble = {.cause = Cause::model_failed, .said = "ValueError: secret"};
        end(job, EndReason::model_failed);
        hear(client, "model-failed");
        return client.got;
    }
};

/// Returns a request that the gate refuses at once, so that nobody needs to answer it.
std::string too_large(std::string_view fields = {}) {
    return "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n" +
           std::string(fields) + "\r\n";
}

/// Returns a part of the status and a part of the job list that name the client.
struct Named {
    std::string in_status;
    std::string in_jobs;
};
Named named(std::string_view client, std::string_view address) {
    return {.in_status = "\"client\":\"" + std::string(client) + "\",\"uploads\":0",
            .in_jobs = "\"client\":\"" + std::string(address) + "\",\"method\""};
}

void expect_client(Behind& fixture, const Named& named) {
    const std::string status = fixture.page("/-/status");
    EXPECT_TRUE(status.contains(named.in_status)) << named.in_status << " in " << status;
    const std::string jobs = fixture.page("/-/jobs");
    EXPECT_TRUE(jobs.contains(named.in_jobs)) << named.in_jobs << " in " << jobs;
}

TEST(BehindAProxy, TheClientIsWhomTheProxyNames) {
    Behind fixture("10.0.0.0/8");
    fixture.hear(fixture.ask_at("10.0.0.2", too_large("X-Forwarded-For: 9.9.9.9, 203.0.113.7\r\n")),
                 "413");
    expect_client(fixture, named("203.0.113.7", "203.0.113.7"));
    fixture.hear(fixture.ask_at("10.0.0.2", too_large("Forwarded: for=\"[2001:db8::7]:80\"\r\n")),
                 "413");
    expect_client(fixture, named("2001:db8::/64", "2001:db8::7"));
    fixture.hear(fixture.ask_at("10.0.0.2", too_large("Forwarded: for=_hidden\r\n")), "413");
    expect_client(fixture, named("10.0.0.2", "client"));  // as the fixture calls every peer
}

TEST(BehindAProxy, RequestsOfOneConnectionMayHaveSeveralClients) {
    Behind fixture("10.0.0.0/8");
    Client& proxy = fixture.ask_at("10.0.0.2", get("X-Forwarded-For: 203.0.113.7\r\n"));
    fixture.answer("one");
    fixture.hear(proxy, "one");
    EXPECT_TRUE(fixture.page("/-/jobs").contains(named("", "203.0.113.7").in_jobs));
    proxy.say(get());
    fixture.answer("two");
    fixture.hear(proxy, "two");
    EXPECT_TRUE(fixture.page("/-/jobs").contains(named("", "client").in_jobs));
}

TEST(BehindAProxy, NobodyElseNamesTheClient) {
    Behind fixture("10.0.0.0/8");
    fixture.hear(
        fixture.ask_at("203.0.113.7",
                       too_large("X-Forwarded-For: 9.9.9.9\r\nForwarded: for=9.9.9.9\r\n")),
        "413");
    expect_client(fixture, named("203.0.113.7", "client"));
}

TEST(BehindAProxy, NobodyIsLocal) {
    for (const std::string_view fields :
         {"", "X-Forwarded-For: 127.0.0.1\r\n", "Forwarded: for=127.0.0.1\r\n",
          "Forwarded: for=\"[::1]\"\r\n", "X-Forwarded-For: \r\n",
          "X-Forwarded-For: ::ffff:127.0.0.1\r\n"}) {
        Behind fixture("127.0.0.1");
        Client& client = fixture.ask_at("127.0.0.1", get(fields));
        EXPECT_FALSE(fixture.read_of_failure(client).contains("secret")) << fields;
    }
    Behind fixture("10.0.0.0/8");
    Client& client = fixture.ask_at("127.0.0.1", get());
    EXPECT_TRUE(fixture.read_of_failure(client).contains("secret")) << "this one comes directly";
}

TEST(BehindAProxy, ThatUsesTheUnixSocketNobodyIsTheCommandLine) {
    Behind fixture(ProxyTrust{.unix_socket = true});
    const std::string proxy = "unix socket";
    fixture.hear(
        fixture.ask_at(proxy, too_large("X-Forwarded-For: 203.0.113.7\r\n"), Entrance::unix_socket),
        "413");
    expect_client(fixture, named("203.0.113.7", "203.0.113.7"));
    fixture.hear(
        fixture.ask_at(proxy, too_large("Forwarded: for=unknown\r\n"), Entrance::unix_socket),
        "413");
    expect_client(fixture, named(proxy, "client"));  // as the fixture calls every peer
    for (const std::string_view fields : {"", "X-Forwarded-For: 127.0.0.1\r\n", "Via: 1.1 x\r\n"}) {
        Client& client = fixture.ask_at(proxy, get(fields), Entrance::unix_socket);
        EXPECT_FALSE(fixture.read_of_failure(client).contains("secret")) << fields;
    }
    Client& command_line = fixture.ask_at({}, get(), Entrance::command_line);
    EXPECT_TRUE(fixture.read_of_failure(command_line).contains("secret"));
}

struct WithKey : Behind {
    explicit WithKey(const KeyLimits& limits) : Behind("10.0.0.0/8") {
        key = *new_key(folder.file("keys"), "alice", Access::plain, limits);
        gate.tick();
    }
    [[nodiscard]] std::string post(std::string_view size = "5") const {
        return "POST /x HTTP/1.1\r\nHost: localhost\r\nTurnpike-Key: " + key +
               "\r\nX-Forwarded-For: 203.0.113.7\r\nExpect: 100-continue\r\nContent-Length: " +
               std::string(size) + "\r\n\r\n";
    }
    std::string key;
};

TEST(AKey, IsTheClientAlsoBehindAProxy) {
    WithKey fixture({});
    fixture.hear(fixture.ask_at("10.0.0.2", fixture.post("99999999999")), "413");
    expect_client(fixture, {.in_status = "\"client\":\"key alice\",\"uploads\":0",
                            .in_jobs = R"("client":"203.0.113.7","key":"alice")"});
}

TEST(AKey, OverItsRateIsRefusedBeforeItsBodyIsAskedFor) {
    WithKey fixture({.rate = Rate{.jobs = 1, .per = 1min}});
    Client& first = fixture.ask_at("10.0.0.2", fixture.post());
    fixture.hear(first, "100 Continue");
    first.say("hello");
    fixture.answer("fine");
    fixture.hear(first, "fine");

    Client& second = fixture.ask_at("10.0.0.2", fixture.post());
    fixture.hear(second, "urn:turnpike:problem:rate-exceeded");
    EXPECT_TRUE(second.got.starts_with("HTTP/1.1 429 Too Many Requests\r\n")) << second.got;
    EXPECT_TRUE(second.got.contains("Retry-After: 60\r\n")) << second.got;
    EXPECT_FALSE(second.got.contains("100 Continue"));
    EXPECT_EQ(fixture.count<JobArrived>(), 1) << "the engine hears nothing";

    const std::string jobs = fixture.page("/-/jobs");
    EXPECT_TRUE(jobs.contains(R"("outcome":"refused","reason":"rate_exceeded")")) << jobs;
    EXPECT_TRUE(jobs.contains(R"("key":"alice")")) << jobs;
    const std::string status = fixture.page("/-/status");
    EXPECT_TRUE(status.contains(R"("refused":1,"timed_out")")) << status;
    EXPECT_TRUE(status.contains(R"("client":"key alice")")) << status;
}

TEST(AKey, OverItsRateMayStillLookAtItsJobs) {
    WithKey fixture({.rate = Rate{.jobs = 1, .per = 1min}});
    for (int i = 0; i < 3; ++i) {
        Client& client = fixture.ask_at("10.0.0.2",
                                        "GET /-/jobs HTTP/1.1\r\nHost: localhost\r\n"
                                        "Turnpike-Key: " +
                                            fixture.key + "\r\n\r\n");
        fixture.hear(client, "\"ended\":[");
        EXPECT_TRUE(client.got.starts_with("HTTP/1.1 200")) << client.got;
    }
}

TEST(AKey, SeesNoClients) {
    WithKey fixture({});
    Client& client = fixture.ask_at(
        "10.0.0.2",
        "GET /-/status HTTP/1.1\r\nHost: localhost\r\nTurnpike-Key: " + fixture.key + "\r\n\r\n");
    fixture.hear(client, "\"lanes\":[");
    EXPECT_FALSE(client.got.contains("\"clients\"")) << client.got;
}

TEST(ABodyAnnouncedTooLarge, CountsAsRefused) {
    WithKey fixture({});
    Client& client = fixture.ask_at("10.0.0.2", fixture.post("99999999999"));
    fixture.hear(client, "body-too-large");
    EXPECT_TRUE(fixture.page("/-/status").contains(R"("refused":1,"timed_out")"));
}

}  // namespace
}  // namespace turnpike
