#include "config/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike {
namespace {

using testing::HasSubstr;

TEST(Places, AnAddressIsAHostAndAPort) {
    EXPECT_EQ(parse_address("127.0.0.1:8000"), (Address{"127.0.0.1", 8000}));
    EXPECT_EQ(parse_address("[::1]:8000"), (Address{"::1", 8000}));
    EXPECT_EQ(parse_address("LocalHost:0"), (Address{"localhost", 0}));
    EXPECT_EQ(parse_address("0.0.0.0:65535"), (Address{"0.0.0.0", 65535}));
}

TEST(Places, AnAddressThatIsHalfThereIsAMistake) {
    for (const char* text : {"",
                             "8000",
                             ":8000",
                             "127.0.0.1",
                             "127.0.0.1:",
                             "127.0.0.1:65536",
                             "127.0.0.1:80x",
                             "127.0.0.1:-1",
                             "127.0.0:80",
                             "127.0.0.256:80",
                             "127.0.0.1.:80",
                             "[::1]",
                             "[::1",
                             "[::1]8000",
                             "[localhost]:80",
                             "[]:80",
                             "a b:80",
                             "http://a:80",
                             "a/b:80",
                             "-a:80",
                             ".a:80"})
        EXPECT_FALSE(parse_address(text)) << text;
    EXPECT_THAT(parse_address("::1:8000").error(), HasSubstr("needs brackets"));
    EXPECT_THAT(parse_address("localhost").error(), HasSubstr("needs a port"));
    EXPECT_FALSE(parse_address(std::string(254, 'a').append(":80")));
}

TEST(Places, AHostMayBeABareIPv6Address) {
    EXPECT_EQ(parse_host("::1"), "::1");
    EXPECT_EQ(parse_host("[::1]"), "::1");
    EXPECT_EQ(parse_host("GPU-box.Example"), "gpu-box.example");
    EXPECT_FALSE(parse_host("host:80"));
    EXPECT_FALSE(parse_host("*"));
    EXPECT_FALSE(parse_host(""));
}

TEST(Places, AnOriginHasNoPath) {
    EXPECT_EQ(parse_origin("https://Example.org"), "https://example.org");
    EXPECT_EQ(parse_origin("http://localhost:3000"), "http://localhost:3000");
    EXPECT_EQ(parse_origin("http://[::1]:3000"), "http://[::1]:3000");
    for (const char* text : {"", "*", "null", "example.org", "://a", "https://", "https://a/",
                             "https://a/b", "https://a b", "https://u@a", "https://*.a"})
        EXPECT_FALSE(parse_origin(text)) << text;
}

TEST(Places, AWorkerHasAHostAPortAndAPrefix) {
    EXPECT_EQ(parse_worker_url("http://127.0.0.1:8001"),
              (WorkerUrl{"http://127.0.0.1:8001", "127.0.0.1", 8001, ""}));
    EXPECT_EQ(parse_worker_url("http://GPU_1/"), (WorkerUrl{"http://GPU_1/", "gpu_1", 80, ""}));
    EXPECT_EQ(parse_worker_url("HTTP://[FE80::1]:81/v1/x/"),
              (WorkerUrl{"HTTP://[FE80::1]:81/v1/x/", "fe80::1", 81, "/v1/x"}));
}

TEST(Places, OtherUrlsOfWorkersAreMistakes) {
    for (const char* text :
         {"", "127.0.0.1:8001", "http:/a", "http://", "http:///x", "http://a:0", "http://a:99999",
          "http://a?x=1", "http://a/x?y", "http://a#b", "http://u:p@a", "http://a/ b",
          "http://a/\r\nX: y", "http://a\r\n", "ftp://a", "http://::1:80", "http://a/ä"})
        EXPECT_FALSE(parse_worker_url(text)) << text;
    EXPECT_THAT(parse_worker_url("https://a").error(), HasSubstr("without TLS"));
}

TEST(Places, ARequestLineIsAMethodAndAPath) {
    const auto line = parse_request_line("POST /predict?x=1");
    ASSERT_TRUE(line);
    EXPECT_EQ(line->method, "POST");
    EXPECT_EQ(line->target, "/predict?x=1");
    for (const char* text : {"", "/predict", "POST", "POST predict", "post /x", "POST  /x", " /x",
                             "POST /x HTTP/1.1", "POST /x\r\nA: b", "POST /x#y", "P\tT /x"})
        EXPECT_FALSE(parse_request_line(text)) << text;
    EXPECT_FALSE(parse_request_line(std::string("GET /").append(2048, 'a')));
}

TEST(Places, AnAsideRuleMayEndInAStar) {
    EXPECT_EQ(parse_aside_rule("GET /v1/models"), (AsideRule{"GET", "/v1/models"}));
    EXPECT_EQ(parse_aside_rule("GET /static/*"), (AsideRule{"GET", "/static/*"}));
    EXPECT_EQ(parse_aside_rule("GET /*"), (AsideRule{"GET", "/*"}));
    for (const char* text :
         {"GET", "GET x", "GET /x*", "GET /*/x", "GET /x?y", "GET /-/status", "GET /-", "GET /-/*"})
        EXPECT_FALSE(parse_aside_rule(text)) << text;
}

}  // namespace
}  // namespace turnpike
