// Which fields of a client reach the worker.
#include <gtest/gtest.h>

#include <string>

#include "gate/arrival.h"
#include "tests/unit/gate/parsed_request.h"

namespace turnpike {
namespace {

struct Sender {
    bool keys_required = false;
    std::string_view client = "10.1.1.1";
};

std::string forwarded(std::string_view lines, const Sender& sender = {}) {
    const ParsedRequest request(lines);
    const KeyRing ring;
    const AccessControl::Keys keys{.ring = ring, .are_required = sender.keys_required};
    std::string out;
    append_forwarded_fields(
        out, {.head = request.head(), .keys = keys, .client = sender.client, .job = "abc"});
    return out;
}

/// Returns what becomes of `fields` alone. The client has no address, so nothing is added to them.
std::string of_fields(std::string_view fields, bool keys_required = false) {
    const std::string all = forwarded(get(fields), {.keys_required = keys_required, .client = {}});
    const std::string_view host = "Host: localhost:8000\r\n";
    const std::string_view job = "Turnpike-Job: abc\r\n";
    EXPECT_TRUE(all.starts_with(host) && all.ends_with(job)) << all;
    return all.substr(host.size(), all.size() - host.size() - job.size());
}

TEST(Forwarded, KeepsFieldsAsTheyCame) {
    const std::string fields = "Accept: */*\r\nX-Odd: a,  b\r\nx-odd: c\r\nCookie: d=e\r\n";
    EXPECT_EQ(of_fields(fields), fields);
}

TEST(Forwarded, DropsWhatBelongsToTheConnection) {
    EXPECT_EQ(of_fields("Connection: keep-alive, X-Hop\r\nKeep-Alive: 5\r\nX-Hop: 1\r\nTE: x\r\n"
                        "Trailer: y\r\nUpgrade: h2c\r\nProxy-Authorization: z\r\n"
                        "Proxy-Connection: close\r\nExpect: 100-continue\r\nContent-Length: 3\r\n"),
              "");
    EXPECT_EQ(of_fields("Transfer-Encoding: chunked\r\n"), "");
}

TEST(Forwarded, DropsKeys) {
    const std::string fields = "Turnpike-Key: k\r\nAuthorization: Bearer k\r\n";
    EXPECT_EQ(of_fields(fields, true), "");
    EXPECT_EQ(of_fields(fields, false), "Authorization: Bearer k\r\n") << "it is the worker's";
}

TEST(Forwarded, DropsOurOwnFieldsSoThatNobodyForgesThem) {
    EXPECT_EQ(of_fields("Turnpike-Job: forged\r\nTURNPIKE-ATTEMPT: 9\r\nturnpike-priority: 1\r\n"
                        "Turnpike-Pool: x\r\nTurnpike-Anything: y\r\n"),
              "");
    EXPECT_EQ(of_fields("traceparent: 00-ab\r\n"), "traceparent: 00-ab\r\n");
}

TEST(Forwarded, DropsFieldsWhoseUnderscoresCouldBeTakenForDashes) {
    EXPECT_EQ(of_fields("Turnpike_Job: forged\r\nX_Forwarded_For: 1.2.3.4\r\n"
                        "X_Forwarded-For: 1.2.3.4\r\nx_real_ip: 1\r\nContent_Length: 9\r\n"
                        "Transfer_Encoding: chunked\r\nauthorization_: a\r\n_: b\r\n_a: c\r\n"),
              "");
    EXPECT_EQ(of_fields("X-Odd: a_b\r\n"), "X-Odd: a_b\r\n");
}

TEST(Forwarded, AddsTheAddressOfTheClient) {
    EXPECT_EQ(forwarded(get()),
              "Host: localhost:8000\r\nX-Forwarded-For: 10.1.1.1\r\nTurnpike-Job: abc\r\n");
    EXPECT_EQ(forwarded(get("x-forwarded-for: 1.2.3.4, 5.6.7.8\r\n")),
              "Host: localhost:8000\r\nX-Forwarded-For: 1.2.3.4, 5.6.7.8, 10.1.1.1\r\n"
              "Turnpike-Job: abc\r\n");
}

TEST(Forwarded, KeepsEarlierHopsOfTheCommandLine) {
    EXPECT_EQ(of_fields("X-Forwarded-For: 1.2.3.4\r\n"), "X-Forwarded-For: 1.2.3.4\r\n");
}

TEST(Forwarded, InventsAHostIfAnOldClientSendsNone) {
    EXPECT_TRUE(forwarded("GET / HTTP/1.0\r\n").starts_with("Host: localhost\r\n"));
}

TEST(Forwarded, KeepsTheHostOfAnAbsoluteTarget) {
    EXPECT_TRUE(forwarded("GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\n")
                    .starts_with("Host: a.example\r\n"));
}

TEST(Forwarded, AlwaysHasExactlyOneHost) {
    for (const std::string lines :
         {"GET http://a.example/x HTTP/1.0\r\n",                           // no field at all
          "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: Host\r\n"}) {  // named as hop-by-hop
        const std::string out = forwarded(lines);
        EXPECT_EQ(out.find("Host: "), out.rfind("Host: ")) << out;
        EXPECT_TRUE(out.contains("Host: a.example\r\n")) << out;
    }
}

TEST(Forwarded, KeepsTheHopsOfEveryField) {
    EXPECT_TRUE(forwarded(get("X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\n"))
                    .contains("X-Forwarded-For: 1.1.1.1, 2.2.2.2, 10.1.1.1\r\n"));
}

}  // namespace
}  // namespace turnpike
