// What a request says about its connection (Connection, Expect, Upgrade), and pipelined requests.
#include <gtest/gtest.h>

#include "tests/unit/http/rows.h"

namespace turnpike::http::test {
namespace {

const std::string bad_connection = "fault bad_connection";

std::string in_1_0(std::string_view lines) {
    return "GET / HTTP/1.0\r\n"s.append(lines).append("\r\n");
}

TEST(Connection, IsKeptByHttp11UnlessItSaysClose) {
    expect_requests({
        {"nothing said", get("/"), "GET / keep"},
        {"close", with_field("Connection: close"), "GET / close"},
        {"close in capitals", with_field("CONNECTION: CLOSE"), "GET / close"},
        {"close among others", with_field("Connection: a, close , b"), "GET / close"},
        {"close in the second field", with_field("Connection: a\r\nConnection: close"),
         "GET / close"},
        {"close and keep-alive", with_field("Connection: keep-alive, close"), "GET / close"},
        {"keep-alive and close", with_field("Connection: close, keep-alive"), "GET / close"},
        {"keep-alive", with_field("Connection: keep-alive"), "GET / keep"},
        {"a word that contains it", with_field("Connection: closed, disclose"), "GET / keep"},
        {"empty", with_field("Connection:"), "GET / keep"},
        {"empty elements", with_field("Connection: ,, ,"), "GET / keep"},
        {"te", with_field("Connection: TE\r\nTE: trailers"), "GET / keep"},
        {"proxy-connection says nothing", with_field("Proxy-Connection: close"), "GET / keep"},
    });
}

TEST(Connection, IsClosedByHttp10UnlessItSaysKeepAlive) {
    expect_requests({
        {"nothing said", in_1_0(""), "GET / close"},
        {"keep-alive", in_1_0("Connection: keep-alive\r\n"), "GET / keep"},
        {"capitals", in_1_0("Connection: Keep-Alive\r\n"), "GET / keep"},
        {"both", in_1_0("Connection: keep-alive, close\r\n"), "GET / close"},
        {"close", in_1_0("Connection: close\r\n"), "GET / close"},
        {"other", in_1_0("Connection: x\r\n"), "GET / close"},
        {"the field keep-alive", in_1_0("Keep-Alive: timeout=5\r\n"), "GET / close"},
    });
}

TEST(Connection, IsAListOfTokens) {
    expect_requests({
        {"space within", with_field("Connection: keep alive"), bad_connection},
        {"semicolon", with_field("Connection: close;a"), bad_connection},
        {"quotes", with_field("Connection: \"close\""), bad_connection},
        {"colon", with_field("Connection: a:b"), bad_connection},
        {"equals", with_field("Connection: a=b"), bad_connection},
        {"high byte", with_field("Connection: \xc3\xa9"), bad_connection},
        {"bad after good", with_field("Connection: close, (a)"), bad_connection},
        {"32 options", with_field("Connection: " + std::string(31, ',') + "close"), "GET / close"},
        {"33 options", with_field("Connection: " + std::string(32, ',') + "close"), bad_connection},
        {"33 in two fields",
         with_field("Connection: " + std::string(30, ',') + "\r\nConnection: a,b,c"),
         bad_connection},
    });
}

TEST(Expect, IsOnlyEverOneHundredContinue) {
    expect_requests({
        {"usual", with_field("Expect: 100-continue"), "GET / keep continue"},
        {"capitals", with_field("EXPECT: 100-Continue"), "GET / keep continue"},
        {"with a body", post("Expect: 100-continue\r\nContent-Length: 2\r\n", "hi"),
         "POST / keep continue \"hi\""},
        {"in 1.0 it is ignored", in_1_0("Expect: 100-continue\r\n"), "GET / close"},
        {"other", with_field("Expect: 200-ok"), "fault bad_expect"},
        {"empty", with_field("Expect:"), "fault bad_expect"},
        {"longer", with_field("Expect: 100-continued"), "fault bad_expect"},
        {"shorter", with_field("Expect: 100"), "fault bad_expect"},
        {"list", with_field("Expect: 100-continue, 100-continue"), "fault bad_expect"},
        {"parameter", with_field("Expect: 100-continue;a=b"), "fault bad_expect"},
        {"twice", with_field("Expect: 100-continue\r\nExpect: 100-continue"), "fault bad_expect"},
        {"other in 1.0", in_1_0("Expect: tea\r\n"), "fault bad_expect"},
        {"twice in 1.0", in_1_0("Expect: 100-continue\r\nExpect: 100-continue\r\n"),
         "fault bad_expect"},
    });
}

TEST(Upgrade, IsIgnoredUnlessItAsksForAWebSocket) {
    expect_requests({
        {"h2c", with_field("Upgrade: h2c"), "GET / keep"},
        {"h2c as java sends it",
         with_field("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: "
                    "AAEAAEAAAAIAAAAB"),
         "GET / keep"},
        {"h2c in capitals", with_field("Upgrade: H2C"), "GET / keep"},
        {"websocket", with_field("Upgrade: websocket"), "fault websocket"},
        {"websocket asked for", with_field("Connection: Upgrade\r\nUpgrade: websocket"),
         "fault websocket"},
        {"websocket and h2c", with_field("Upgrade: websocket, h2c"), "fault websocket"},
        {"h2c, then websocket", with_field("Upgrade: h2c\r\nUpgrade: websocket"),
         "fault websocket"},
        {"tls", with_field("Upgrade: TLS/1.0"), "GET / keep"},
        {"h2", with_field("Upgrade: h2"), "GET / keep"},
        {"several unknown ones", with_field("Upgrade: a/1, b ,, c"), "GET / keep"},
        {"websocket in capitals", with_field("Upgrade: WebSocket"), "fault websocket"},
        {"websocket last", with_field("Upgrade: a, b,websocket"), "fault websocket"},
        {"nearly a websocket", with_field("Upgrade: websockets, web socket"), "GET / keep"},
        {"empty", with_field("Upgrade:"), "GET / keep"},
        {"in 1.0 it is ignored", in_1_0("Upgrade: websocket\r\n"), "GET / close"},
        {"a name of its length", with_field("Referer: websocket"), "GET / keep"},
        {"insecure requests", with_field("Upgrade-Insecure-Requests: 1"), "GET / keep"},
    });
}

TEST(Pipeline, TakesOneRequestAfterTheOther) {
    const std::string hi = post("Content-Length: 2\r\n", "hi");
    const std::string chunks = chunked("2\r\nyo\r\n0\r\nX: y\r\n\r\n");
    expect_requests({
        {"two gets", get("/1") + get("/2"), "GET /1 keep | GET /2 keep"},
        {"three", get("/1") + get("/2") + get("/3"), "GET /1 keep | GET /2 keep | GET /3 keep"},
        {"length, then get", hi + get("/"), "POST / keep \"hi\" | GET / keep"},
        {"chunked, then get", chunks + get("/"), "POST / keep \"yo\" | GET / keep"},
        {"chunked, then length", chunks + hi, "POST / keep \"yo\" | POST / keep \"hi\""},
        {"length, then chunked", hi + chunks, "POST / keep \"hi\" | POST / keep \"yo\""},
        {"no length: the body is a request", post("", "") + get("/"), "POST / keep | GET / keep"},
        {"empty line between", hi + "\r\n" + get("/"), "POST / keep \"hi\" | GET / keep"},
        {"three empty lines between", hi + "\r\n\r\n\r\n" + get("/"),
         "POST / keep \"hi\" | fault bad_request_line"},
        {"a good one, then garbage", get("/") + "\x16", "GET / keep | fault bad_method"},
        {"more body than said", post("Content-Length: 2\r\n", "hi!"),
         "POST / keep \"hi\" | partial"},
        {"a body that begins a line", post("Content-Length: 2\r\n", "hi there\r\n"),
         "POST / keep \"hi\" | fault bad_method"},
        {"nothing after close", with_field("Connection: close") + get("/"), "GET / close"},
        {"nothing after http/1.0", in_1_0("") + get("/"), "GET / close"},
        {"after a kept http/1.0", in_1_0("Connection: keep-alive\r\n") + get("/2"),
         "GET / keep | GET /2 keep"},
        {"a broken body ends it", chunked("x\r\n") + get("/"), "POST / keep \"\" fault bad_chunk"},
        {"the second is cut short", get("/") + "GET / HT", "GET / keep | partial"},
        {"facts of the first do not stick",
         post("Content-Length: 2\r\nExpect: 100-continue\r\n", "hi") +
             "GET / HTTP/1.1\r\nHost: b\r\n\r\n",
         "POST / keep continue \"hi\" | GET / keep"},
        {"an expectation of the first does not stick",
         with_field("Expect: 100-continue") + with_field("Expect: 100-continue"),
         "GET / keep continue | GET / keep continue"},
        {"a host of the first does not stick", get("/") + "GET / HTTP/1.1\r\n\r\n",
         "GET / keep | fault bad_host"},
        {"a version of the first does not stick",
         in_1_0("Connection: keep-alive\r\n") + post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"),
         "GET / keep | POST / keep \"\""},
        {"an authority of the first does not stick",
         get("http://a/") + "GET / HTTP/1.1\r\nHost: b\r\n\r\n", "GET / keep | GET / keep"},
    });
}

}  // namespace
}  // namespace turnpike::http::test
