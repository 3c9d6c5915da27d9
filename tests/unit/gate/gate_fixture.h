// A gate with real sockets and a real disk. The test plays the engine: every job is admitted, and
// the test decides how each one ends.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "gate/gate.h"
#include "os/socket_transport.h"
#include "tests/unit/loop.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {

/// The client's end of a connection. It reads nothing before listen() is called.
struct Client : std::enable_shared_from_this<Client> {
    using Local = boost::asio::local::stream_protocol;

    explicit Client(boost::asio::io_context& loop) : socket(loop) {}

    /// Sends bytes without blocking. What the gate does not take now is sent later.
    void say(std::string_view bytes) {
        const bool is_writing = !out.empty();
        out.append(bytes);
        if (!is_writing) write();
    }
    void write() {
        socket.async_wait(Local::socket::wait_write,
                          [self = shared_from_this()](boost::system::error_code error) {
                              if (!error) self->out.erase(0, self->write_some(error));
                              if (!error && !self->out.empty()) self->write();
                          });
    }
    std::size_t write_some(boost::system::error_code& error) {
        socket.non_blocking(true);
        const std::size_t size = socket.write_some(boost::asio::buffer(out), error);
        if (error == boost::asio::error::would_block) error = {};
        return size;
    }
    void listen() {
        socket.async_read_some(
            boost::asio::buffer(buffer),
            [self = shared_from_this()](boost::system::error_code error, std::size_t size) {
                self->got.append(self->buffer.data(), size);
                self->is_over = bool(error);
                if (!error) self->listen();
            });
    }
    void leave() { socket.close(); }

    SocketOf<Local> socket;
    std::array<char, 65536> buffer{};
    std::string out;
    std::string got;
    bool is_over = false;  // the gate closed it
};

struct IdleWriter final : AnswerWriter {
    std::function<void()> go_on = [] {};
    void answer_has_room() override { go_on(); }
};

struct GateFixture {
    GateFixture() : GateFixture(Config{.pools = {PoolConfig{.name = "only"}}}) {}
    explicit GateFixture(Config settings) : config(std::move(settings)) {
        loop.handle_events = [this] { handle_events(); };
    }
    ~GateFixture() {
        for (const auto& client : clients) client->leave();
        gate.shut_down();
        loop.poll();
        gate.close_all();  // the gate CHECKs that nothing is left
        loop.poll();
        loop.handle_events = [] {};
    }
    GateFixture(const GateFixture&) = delete;
    GateFixture& operator=(const GateFixture&) = delete;

    Client& connect(Entrance entrance = Entrance::tcp, std::string address = "127.0.0.1") {
        const auto client = std::make_shared<Client>(loop.context());
        SocketOf<Client::Local> ours(loop.context());
        boost::asio::local::connect_pair(client->socket, ours);
        ours.non_blocking(true);
        gate.add_connection(
            make_transport(StreamSocket(std::move(ours))),
            {.entrance = entrance, .address = std::move(address), .text = "client"});
        clients.push_back(client);
        return *client;
    }
    /// Returns a new client that sends this text and listens.
    Client& ask(std::string_view text) {
        Client& client = connect();
        client.listen();
        client.say(text);
        return client;
    }
    /// Does the same, but from another machine.
    Client& ask_from_afar(std::string_view text) {
        Client& client = connect(Entrance::tcp, "10.1.1.1");
        client.listen();
        client.say(text);
        return client;
    }
    /// Does what the engine does, one event after the other.
    void handle_events() {
        while (handled < events.size()) handle(Event(events[handled++]));
    }
    void handle(const Event& event) {
        if (const auto* arrived = std::get_if<JobArrived>(&event))
            gate.carry_out(AdmitJob{arrived->ticket, job = JobId{next_job++}});
        else if (const auto* failed = std::get_if<BodyFailed>(&event))
            carry_out_end(failed->job, EndReason::body_failed, 0);
        else if (const auto* left = std::get_if<ClientLeft>(&event))
            carry_out_end(left->job, reason_of(left->why), 0);
    }
    /// Ends a job, and handles what comes of it.
    void end(JobId which, EndReason reason, std::uint32_t attempts = 1) {
        carry_out_end(which, reason, attempts);
        loop.turn();
    }
    void carry_out_end(JobId which, EndReason reason, std::uint32_t attempts) {
        gate.carry_out(EndJob{.job = which,
                              .reason = reason,
                              .attempt = AttemptId{1},
                              .attempts = attempts,
                              .lane = LaneId{0}});
    }
    /// Returns how many events of this kind the gate delivered.
    template <class What>
    [[nodiscard]] long count() const {
        return std::ranges::count_if(
            events, [](const Event& event) { return std::holds_alternative<What>(event); });
    }
    /// Waits until the body of the latest job is complete, and returns what the worker would get.
    ExchangePtr queued() {
        EXPECT_TRUE(loop.run_until([&] { return count<BodyCompleted>() > taken; }));
        ++taken;
        return exchanges.find(job);
    }
    /// Gives a whole short answer to the latest job.
    void answer(std::string_view body) {
        const ExchangePtr exchange = queued();
        AnswerHead& head = exchange->answer.start(&writer);
        head = {.status = 200, .fields = {}, .has_length = true, .length = body.size()};
        exchange->answer.hold();
        exchange->answer.append(store, body);
        exchange->answer.complete();
        end(job, EndReason::answered);
    }
    /// Waits until the client has received this text.
    void hear(Client& client, std::string_view text) {
        EXPECT_TRUE(loop.run_until([&] { return client.got.contains(text); }))
            << "not heard: " << text << "\nheard: " << client.got;
    }

    TestLoop loop;
    TemporaryFolder folder;
    Config config;
    Engine engine{engine_settings(config, 1)};
    Exchanges exchanges{loop.wakeups()};
    Background background{loop.context(), "test-disk"};
    Store store{.disk = background, .folder = folder.file("")};
    std::optional<Instant> time;  // if set, only the test moves the clock
    Clock clock{[this] {
        const auto real = std::chrono::steady_clock::now().time_since_epoch();
        return time ? *time : Instant(std::chrono::duration_cast<Duration>(real));
    }};
    KeyFile keys{folder.file("keys"), KeyFile::Need::if_there_are_any};
    std::unique_ptr<LogSink> log = *LogSink::open({});
    std::vector<LaneFacts> lanes;
    RecentCrashes crashes{10};
    std::deque<LaneLog> logs;  // one for each lane that has one
    std::vector<Event> events;
    std::size_t handled = 0;
    std::vector<std::shared_ptr<Client>> clients;
    IdleWriter writer;
    JobId job;
    std::uint64_t next_job = 0;
    long taken = 0;
    Gate gate{
        {.config = config,
         .engine = engine,
         .wakeups = loop.wakeups(),
         .exchanges = exchanges,
         .store = store,
         .digests = background,
         .clock = clock,
         .keys = keys,
         .log = *log,
         .lanes = lanes,
         .crashes = crashes,
         .log_of = [this](std::size_t lane) { return lane < logs.size() ? &logs[lane] : nullptr; },
         .deliver = [this](const Event& event) { events.push_back(event); }},
        Address{"127.0.0.1", 8000}};
};

}  // namespace turnpike
