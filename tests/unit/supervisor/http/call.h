// One link to a scripted worker; records what the link's user was told.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/http/link.h"
#include "tests/unit/stream/disk.h"
#include "tests/unit/supervisor/http/scripted_worker.h"

namespace turnpike {

struct NotingUser final : LinkUser {
    int heads = 0;
    int status = 0;
    std::string data;
    int ends = 0;
    std::optional<Break> broke;
    http::Fault fault = http::Fault::none;
    Room room = Room::enough;  // what answer_data() returns
    std::function<void()> on_head = [] {};
    std::function<void()> on_data = [] {};
    std::function<void()> on_end = [] {};

    [[nodiscard]] bool is_done() const { return ends > 0 || broke.has_value(); }

    void answer_head(const http::ResponseHead& head) override {
        ++heads;
        status = head.status;
        on_head();
    }
    Room answer_data(std::string_view bytes) override {
        data += bytes;
        on_data();
        return room;
    }
    void answer_ended() override {
        ++ends;
        on_end();
    }
    void answer_broke(Break why, http::Fault what) override {
        EXPECT_FALSE(broke) << "told twice";
        broke = why;
        fault = what;
        on_end();
    }
};

struct Call : Disk {
    ScriptedWorker worker{loop};
    SocketDialer dialer{loop.context()};
    LoopAlarms alarms{loop.context()};
    LinkDeps deps{.dialer = dialer, .alarms = alarms, .store = store};
    std::unique_ptr<Link> link = std::make_unique<Link>(deps, worker.destination);
    NotingUser user;

    void send(const Body* body = nullptr, http::Method method = http::Method::get) {
        user = NotingUser();
        link->head() = "GET /asked HTTP/1.1\r\nHost: w\r\n\r\n";
        link->send({.method = method, .body = body}, user);
    }
    ScriptedWorker::Visit& heard(std::size_t connection, std::string_view until = "\r\n\r\n") {
        return worker.heard(connection, until);
    }
    void finish() {
        EXPECT_TRUE(loop.run_until([&] { return user.is_done(); })) << "nobody told the user";
    }
    /// Runs one complete exchange on the connection with this number.
    void exchange(std::size_t connection, std::string_view answer) {
        send();
        ScriptedWorker::Visit& visit = heard(connection);
        visit.got.clear();
        visit.say(answer);
        finish();
        EXPECT_EQ(user.ends, 1);
    }
};

inline constexpr std::string_view short_answer =
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

}  // namespace turnpike
