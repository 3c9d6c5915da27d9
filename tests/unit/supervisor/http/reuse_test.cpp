#include "supervisor/http/reuse.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "http/response_parser.h"

namespace turnpike {
namespace {

using http::Method;

constexpr std::array methods{Method::get,   Method::head,    Method::post,   Method::put,
                             Method::patch, Method::delete_, Method::options};

/// True if the connection may be used again after this answer.
bool leaves_nothing(const Asked& asked, const std::string& answer) {
    const std::string whole = answer + "\r\n";  // the parsed head points into it
    http::ResponseParser parser(http::Limits{});
    EXPECT_EQ(parser.parse(whole, asked.method), http::Progress::done) << answer;
    return turnpike::leaves_nothing(asked, parser.head());
}
std::string answer_of(int status, const std::string& fields = "Content-Length: 2\r\n") {
    return "HTTP/1.1 " + std::to_string(status) + " Text\r\n" + fields;
}

TEST(Reuse, NeedsAMethodWithWhichWorkersReadABody) {
    for (const Method method : methods) {
        const bool has_answer_body = method != Method::head;
        EXPECT_EQ(may_leave_nothing({.method = method}), has_answer_body) << name_of(method);
        EXPECT_EQ(leaves_nothing({.method = method}, answer_of(200)), has_answer_body);
        const Asked with_body{.method = method, .body_size = 1};
        const bool expects_body =
            method == Method::post || method == Method::put || method == Method::patch;
        EXPECT_EQ(may_leave_nothing(with_body), expects_body) << name_of(method);
        EXPECT_EQ(leaves_nothing(with_body, answer_of(200)), expects_body) << name_of(method);
    }
}

TEST(Reuse, NeedsASuccessIfTheRequestHasABody) {
    for (const int status :
         {200, 201, 202, 206, 299, 300, 302, 307, 400, 404, 405, 413, 422, 500, 501, 503, 599}) {
        const bool is_success = status < 300;
        EXPECT_EQ(leaves_nothing({.method = Method::post, .body_size = 1}, answer_of(status)),
                  is_success)
            << status;
        EXPECT_TRUE(leaves_nothing({.method = Method::post}, answer_of(status))) << status;
        EXPECT_TRUE(leaves_nothing({.method = Method::get}, answer_of(status))) << status;
    }
}

TEST(Reuse, NeedsAnAnswerThatMarksItsEnd) {
    const Asked asked{.method = Method::get};
    EXPECT_TRUE(leaves_nothing(asked, answer_of(200, "Transfer-Encoding: chunked\r\n")));
    EXPECT_TRUE(leaves_nothing(asked, answer_of(200, "Content-Length: 0\r\n")));
    EXPECT_FALSE(leaves_nothing(asked, answer_of(200, ""))) << "its end is the connection's";
    for (const std::string fields : {"", "Content-Length: 0\r\n", "Content-Length: 2\r\n"}) {
        EXPECT_FALSE(leaves_nothing(asked, answer_of(204, fields))) << fields;
        EXPECT_FALSE(leaves_nothing(asked, answer_of(304, fields))) << fields;
    }
}

TEST(Reuse, NeedsAWorkerThatKeepsTheConnectionAndSpeaksHttp11) {
    const Asked asked{.method = Method::get};
    const std::string length = "Content-Length: 2\r\n";
    EXPECT_FALSE(leaves_nothing(asked, answer_of(200, length + "Connection: close\r\n")));
    EXPECT_FALSE(leaves_nothing(asked, answer_of(200, length + "Connection: x, Close\r\n")));
    EXPECT_TRUE(leaves_nothing(asked, answer_of(200, length + "Connection: keep-alive\r\n")));
    EXPECT_FALSE(leaves_nothing(asked, "HTTP/1.0 200 OK\r\n" + length));
    EXPECT_FALSE(leaves_nothing(asked, "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + length));
}

TEST(Reuse, NeedsAServerThatReadsBodiesItself) {
    struct Row {
        const char* server;
        bool reads;
    };
    for (const Row& row :
         {Row{"uvicorn", true}, Row{"gunicorn", true}, Row{"llama.cpp", true},
          Row{"Python/3.11 aiohttp/3.8.4", true}, Row{"TornadoServer/6.2", true},
          Row{"BaseHTTP/0.6 Python/3.11.2", false}, Row{"SimpleHTTP/0.6 Python/3.11.2", false},
          Row{"Mine/1.0 Python/3.13.1", false}, Row{"BaseHTTP/0.6", false},
          Row{"WSGIServer/0.2 CPython/3.11.2", false}}) {
        const std::string answer =
            answer_of(200, "Content-Length: 2\r\nserver: " + std::string(row.server) + "\r\n");
        EXPECT_EQ(leaves_nothing({.method = Method::post, .body_size = 1}, answer), row.reads)
            << row.server;
        EXPECT_TRUE(leaves_nothing({.method = Method::get}, answer)) << row.server;
    }
}

}  // namespace
}  // namespace turnpike
