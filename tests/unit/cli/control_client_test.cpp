#include "cli/control_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "os/file.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::AllOf;
using testing::HasSubstr;

enum class Then : std::uint8_t { close, wait /* until the client closes */ };

/// A fake gate that takes one connection, reads the request's head and sends a given answer.
class FakeGate {
public:
    explicit FakeGate(std::vector<std::string> pieces, Then then = Then::close)
        : listener_(listen_at(path())), thread_([this, pieces, then] {
              const UniqueFd client(::accept(listener_.get(), nullptr, nullptr));
              while (!request_.ends_with("\r\n\r\n") && read_some(client.get())) {
              }
              for (const std::string& piece : pieces)
                  ::send(client.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
              while (then == Then::wait && read_some(client.get())) {
              }
          }) {}
    ~FakeGate() { finish(); }

    [[nodiscard]] std::string path() const { return folder_.file("socket"); }

    /// Returns the request, once it has been answered.
    std::string finish() {
        ::shutdown(listener_.get(), SHUT_RDWR);  // in case no client connected
        if (thread_.joinable()) thread_.join();
        return request_;
    }

private:
    static UniqueFd listen_at(const std::string& path) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof(address.sun_path) - 1);
        UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)),
                  0);
        EXPECT_EQ(::listen(listener.get(), 1), 0);
        return listener;
    }

    /// Returns false if the connection has ended.
    bool read_some(int client) {
        std::array<char, 512> room{};
        const ssize_t size = ::recv(client, room.data(), room.size(), 0);
        if (size > 0) request_.append(room.data(), static_cast<std::size_t>(size));
        return size > 0;
    }

    std::string request_;
    TemporaryFolder folder_;
    UniqueFd listener_;
    std::thread thread_;
};

std::string asked(const FakeGate& gate, const ControlLimits& limits = {}) {
    const auto answer = ask(gate.path(), {.target = "/-/status"}, limits);
    return answer ? std::to_string(answer->status) + ' ' + answer->body : answer.error();
}

TEST(ControlClient, SendsAPlainRequest) {
    FakeGate gate({"HTTP/1.1 204 No Content\r\n\r\n"});
    const auto answer =
        ask(gate.path(), {.method = http::Method::delete_, .target = "/-/jobs/abc"});
    EXPECT_EQ(answer.value().status, 204);
    EXPECT_EQ(gate.finish(),
              "DELETE /-/jobs/abc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
}

TEST(ControlClient, ReadsABodyOfKnownLengthAndLooksNoFurther) {
    EXPECT_EQ(asked(FakeGate({"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "extra"})),
              "200 {}");
}

TEST(ControlClient, DoesNotWaitForTheEndOfTheConnection) {
    EXPECT_EQ(asked(FakeGate({"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"}, Then::wait)),
              "200 {}");
}

TEST(ControlClient, PutsPiecesTogether) {
    EXPECT_EQ(asked(FakeGate({"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 20", "0 OK\r\nTransfer-Enc",
                              "oding: chunked\r\n\r\n5\r\nhel", "lo\r\n1\r\n!\r\n0\r\n", "\r\n"})),
              "200 hello!");
}

TEST(ControlClient, ReadsABodyThatEndsWithTheConnection) {
    EXPECT_EQ(asked(FakeGate({"HTTP/1.1 404 Not Found\r\n\r\nabc"})), "404 abc");
}

TEST(ControlClient, RefusesHalfAnAnswer) {
    const std::string broken = "closed the connection in the middle of its answer";
    EXPECT_EQ(asked(FakeGate({"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"})), broken);
    EXPECT_EQ(asked(FakeGate({"HTTP/1.1 200 OK\r\nContent-Len"})), broken);
    EXPECT_EQ(asked(FakeGate({})), broken);
}

TEST(ControlClient, RefusesWhatIsNotHttp) {
    EXPECT_THAT(asked(FakeGate({"hello\r\n\r\n"})), HasSubstr("did not answer in HTTP: "));
    EXPECT_THAT(asked(FakeGate({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"})),
                HasSubstr("did not answer in HTTP: "));
}

TEST(ControlClient, TakesNoMoreThanItsLimit) {
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
    EXPECT_EQ(asked(FakeGate({head + "abcd"}), {.body_max = Bytes{4}}), "200 abcd");
    EXPECT_EQ(asked(FakeGate({head + "abcd"}), {.body_max = Bytes{3}}),
              "answered with more than 3B");
}

TEST(ControlClient, GivesUpOnAGateThatIsStuck) {
    EXPECT_EQ(asked(FakeGate({}, Then::wait), {.timeout = 20ms}), "did not answer within 20ms");
    EXPECT_EQ(asked(FakeGate({"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na"}, Then::wait),
                    {.timeout = 20ms}),
              "did not answer within 20ms");
}

TEST(ControlClient, SaysThatNobodyIsThere) {
    const TemporaryFolder folder;
    const auto missing = ask(folder.file("socket"), {.target = "/"});
    EXPECT_THAT(missing.error(),
                AllOf(HasSubstr("can't be reached at "), HasSubstr("No such file")));
    const auto too_long = ask(std::string(108, 'x'), {.target = "/"});
    EXPECT_THAT(too_long.error(), HasSubstr("too long"));
}

}  // namespace
}  // namespace turnpike
