#include "gate/connection.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/gate/gate_fixture.h"

namespace turnpike {
namespace {

constexpr std::string_view get = "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n";

std::string post(std::string_view body, std::string_view fields = {}) {
    return "POST /predict HTTP/1.1\r\nHost: localhost\r\n" + std::string(fields) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

TEST(Connection, BringsAJobToTheEngineAndItsAnswerBack) {
    GateFixture fixture;
    Client& client = fixture.ask(post("input"));
    const ExchangePtr exchange = fixture.queued();
    EXPECT_EQ(exchange->method, "POST");
    EXPECT_EQ(exchange->target, "/predict");
    EXPECT_EQ(exchange->body.bytes(), "input");
    EXPECT_TRUE(exchange->fields.ends_with("Content-Length: 5\r\n")) << exchange->fields;
    fixture.taken = 0;
    fixture.answer("output");
    fixture.hear(client, "output");
    EXPECT_TRUE(client.got.starts_with("HTTP/1.1 200 OK\r\n")) << client.got;
    EXPECT_FALSE(client.is_over);
}

TEST(Connection, AnswersPipelinedRequestsInOrder) {
    GateFixture fixture;
    Client& client = fixture.ask(post("one") + post("two") + std::string(get));
    fixture.answer("first");
    fixture.answer("second");
    EXPECT_EQ(fixture.exchanges.find(fixture.job)->method, "GET");
    fixture.answer("third");
    fixture.hear(client, "third");
    EXPECT_LT(client.got.find("first"), client.got.find("second"));
    EXPECT_LT(client.got.find("second"), client.got.find("third"));
}

TEST(Connection, AnswersItsOwnRoutesItself) {
    GateFixture fixture;
    Client& client = fixture.ask("GET /-/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    fixture.hear(client, "ok\n");
    EXPECT_TRUE(fixture.events.empty());
}

TEST(Connection, TakesABodyFromDiskToo) {
    GateFixture fixture;
    const std::string body(3'000'000, 'b');
    Client& client = fixture.ask(post(body));
    const ExchangePtr exchange = fixture.queued();
    EXPECT_FALSE(exchange->body.is_in_memory());
    EXPECT_EQ(exchange->body.size(), body.size());
    fixture.taken = 0;
    fixture.answer("taken");
    fixture.hear(client, "taken");
}

TEST(Connection, TellsTheEngineThatItsClientLeft) {
    GateFixture fixture;
    Client& client = fixture.ask(get);
    fixture.queued();
    client.leave();
    EXPECT_TRUE(fixture.loop.run_until([&] { return fixture.count<ClientLeft>() == 1; }));
    EXPECT_EQ(fixture.gate.connections(), 0U);
    EXPECT_EQ(fixture.exchanges.find(fixture.job), nullptr);
}

TEST(Connection, ClosesAfterBytesThatAreNotHttp) {
    GateFixture fixture;
    Client& client = fixture.ask("GET /x HTTP/1.1\r\nno colon\r\n\r\n");
    fixture.hear(client, "urn:turnpike:problem:malformed");
    EXPECT_TRUE(fixture.loop.run_until([&] { return client.is_over; }));
    EXPECT_TRUE(client.got.contains("Connection: close\r\n"));
    client.leave();
    EXPECT_TRUE(fixture.loop.run_until([&] { return fixture.gate.connections() == 0; }));
}

TEST(Connection, RefusesForeignHostsBeforeAnythingElse) {
    GateFixture fixture;
    Client& client = fixture.ask("GET /x HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    fixture.hear(client, "urn:turnpike:problem:foreign-host");
    EXPECT_TRUE(fixture.events.empty());
}

TEST(Connection, SaysContinueOnlyWhenTheJobIsAdmitted) {
    GateFixture fixture;
    Client& client = fixture.ask(
        "POST /x HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    fixture.hear(client, "HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_EQ(fixture.count<JobArrived>(), 1);
    client.say("ok");
    EXPECT_EQ(fixture.queued()->body.bytes(), "ok");
}

TEST(Connection, TellsTheEngineOfAnAnnouncedBodyAsItComes) {
    GateFixture fixture;
    Client& client =
        fixture.ask("POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4194304\r\n\r\n");
    const std::string piece(std::size_t{64} * 1024, 'x');
    for (int sent = 0; sent < 64; ++sent) {
        client.say(piece);
        fixture.loop.turn();
    }
    fixture.queued();
    EXPECT_GE(fixture.count<BodyGrew>(), 2) << "at 2 and 3 MiB; the first was counted at once";
    for (const Event& event : fixture.events)
        if (const auto* arrived = std::get_if<JobArrived>(&event)) {
            EXPECT_FALSE(arrived->client.is_none());
            EXPECT_EQ(arrived->declared, Bytes{4194304});
        }
}

TEST(Connection, SendsAFlowingAnswerInChunks) {
    GateFixture fixture;
    Client& client = fixture.ask(get);
    const ExchangePtr exchange = fixture.queued();
    exchange->answer.start(&fixture.writer).status = 200;
    exchange->answer.flow();
    exchange->answer.append(fixture.store, "abc");
    fixture.hear(client, "\r\n\r\n3\r\nabc\r\n");
    exchange->answer.append(fixture.store, "de");
    exchange->answer.complete();
    fixture.hear(client, "2\r\nde\r\n0\r\n\r\n");
    fixture.end(fixture.job, EndReason::answered);
    EXPECT_EQ(fixture.gate.connections(), 1U);
}

TEST(Connection, CutsAStreamThatBreaksWithoutItsLastChunk) {
    GateFixture fixture;
    Client& client = fixture.ask(get);
    const ExchangePtr exchange = fixture.queued();
    exchange->answer.start(&fixture.writer).status = 200;
    exchange->answer.flow();
    exchange->answer.append(fixture.store, "abc");
    fixture.hear(client, "3\r\nabc\r\n");
    exchange->answer.break_off();
    fixture.end(fixture.job, EndReason::stream_broken);
    EXPECT_TRUE(fixture.loop.run_until([&] { return client.is_over; }));
    EXPECT_FALSE(client.got.contains("0\r\n\r\n"));
    EXPECT_EQ(fixture.gate.connections(), 0U);
}

/// A client that does not read, and an answer of known length that has filled all room. There is no
/// disk, so there is room again as soon as the client reads something.
struct BlockedAnswer : GateFixture {
    explicit BlockedAnswer(std::string_view request = get) : client(connect()) {
        store.folder = folder.file("nowhere");
        store.memory_max = 1000;
        store.step = 1000;
        store.answer_max = 4000;
        client.say(request);
        exchange = queued();
        exchange->answer.start(&writer) = {
            .status = 200, .fields = {}, .has_length = true, .length = 100'000'000};
        exchange->answer.flow();
        const std::string block(1000, 'x');
        while (exchange->answer.append(store, block) == Answer::Room::enough) loop.poll();
    }

    Client& client;
    ExchangePtr exchange;
};

TEST(Connection, LetsTheWriterGoOnWhenASlowClientReads) {
    BlockedAnswer blocked;
    int told = 0;
    blocked.writer.go_on = [&] { ++told; };
    blocked.client.listen();
    EXPECT_TRUE(blocked.loop.run_until([&] { return told > 0; }));
}

TEST(Connection, ClosesOnceWhenItsJobEndsAsItMakesRoom) {
    BlockedAnswer blocked;
    bool has_ended = false;
    blocked.writer.go_on = [&] {  // as if Turnpike-Timeout were over at this moment
        blocked.end(blocked.job, EndReason::deadline_passed);
        has_ended = true;
    };
    blocked.client.listen();
    EXPECT_TRUE(blocked.loop.run_until([&] { return has_ended; }));
    EXPECT_TRUE(blocked.loop.run_until([&] { return blocked.client.is_over; }));
    blocked.loop.poll();
    EXPECT_EQ(blocked.gate.connections(), 0U);
    Client& next = blocked.connect();
    Client& other = blocked.connect();
    for (Client* client : {&next, &other}) {
        client->listen();
        client->say("GET /-/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
        blocked.hear(*client, "ok\n");
    }
    EXPECT_EQ(blocked.gate.connections(), 2U);
}

}  // namespace
}  // namespace turnpike
