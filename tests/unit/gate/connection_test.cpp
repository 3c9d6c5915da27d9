#include "gate/connection.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/gate/gate_stand.h"

namespace turnpike {
namespace {

constexpr std::string_view get = "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n";

std::string post(std::string_view body, std::string_view fields = {}) {
    return "POST /predict HTTP/1.1\r\nHost: localhost\r\n" + std::string(fields) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

TEST(Connection, BringsAJobToTheEngineAndItsAnswerBack) {
    GateStand stand;
    Client& client = stand.ask(post("input"));
    const ExchangePtr exchange = stand.queued();
    EXPECT_EQ(exchange->method, "POST");
    EXPECT_EQ(exchange->target, "/predict");
    EXPECT_EQ(exchange->body.bytes(), "input");
    EXPECT_TRUE(exchange->fields.ends_with("Content-Length: 5\r\n")) << exchange->fields;
    stand.taken = 0;
    stand.answer("output");
    stand.hear(client, "output");
    EXPECT_TRUE(client.got.starts_with("HTTP/1.1 200 OK\r\n")) << client.got;
    EXPECT_FALSE(client.is_over);
}

TEST(Connection, AnswersPipelinedRequestsInOrder) {
    GateStand stand;
    Client& client = stand.ask(post("one") + post("two") + std::string(get));
    stand.answer("first");
    stand.answer("second");
    EXPECT_EQ(stand.exchanges.find(stand.job)->method, "GET");
    stand.answer("third");
    stand.hear(client, "third");
    EXPECT_LT(client.got.find("first"), client.got.find("second"));
    EXPECT_LT(client.got.find("second"), client.got.find("third"));
}

TEST(Connection, AnswersItsOwnRoutesItself) {
    GateStand stand;
    Client& client = stand.ask("GET /-/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stand.hear(client, "ok\n");
    EXPECT_TRUE(stand.events.empty());
}

TEST(Connection, TakesABodyFromDiskToo) {
    GateStand stand;
    const std::string body(3'000'000, 'b');
    Client& client = stand.ask(post(body));
    const ExchangePtr exchange = stand.queued();
    EXPECT_FALSE(exchange->body.is_in_memory());
    EXPECT_EQ(exchange->body.size(), body.size());
    stand.taken = 0;
    stand.answer("taken");
    stand.hear(client, "taken");
}

TEST(Connection, TellsTheEngineThatItsClientLeft) {
    GateStand stand;
    Client& client = stand.ask(get);
    stand.queued();
    client.leave();
    EXPECT_TRUE(stand.loop.run_until([&] { return stand.count<ClientLeft>() == 1; }));
    EXPECT_EQ(stand.gate.connections(), 0U);
    EXPECT_EQ(stand.exchanges.find(stand.job), nullptr);
}

TEST(Connection, ClosesAfterWhatIsNoHttp) {
    GateStand stand;
    Client& client = stand.ask("GET /x HTTP/1.1\r\nno colon\r\n\r\n");
    stand.hear(client, "urn:turnpike:problem:malformed");
    EXPECT_TRUE(stand.loop.run_until([&] { return client.is_over; }));
    EXPECT_TRUE(client.got.contains("Connection: close\r\n"));
    client.leave();
    EXPECT_TRUE(stand.loop.run_until([&] { return stand.gate.connections() == 0; }));
}

TEST(Connection, RefusesForeignHostsBeforeAnythingElse) {
    GateStand stand;
    Client& client = stand.ask("GET /x HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    stand.hear(client, "urn:turnpike:problem:foreign-host");
    EXPECT_TRUE(stand.events.empty());
}

TEST(Connection, SaysContinueOnlyWhenTheJobIsAdmitted) {
    GateStand stand;
    Client& client = stand.ask(
        "POST /x HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    stand.hear(client, "HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_EQ(stand.count<JobArrived>(), 1);
    client.say("ok");
    EXPECT_EQ(stand.queued()->body.bytes(), "ok");
}

TEST(Connection, SendsAFlowingAnswerInChunks) {
    GateStand stand;
    Client& client = stand.ask(get);
    const ExchangePtr exchange = stand.queued();
    exchange->answer.start(&stand.writer).status = 200;
    exchange->answer.flow();
    exchange->answer.append(stand.store, "abc");
    stand.hear(client, "\r\n\r\n3\r\nabc\r\n");
    exchange->answer.append(stand.store, "de");
    exchange->answer.complete();
    stand.hear(client, "2\r\nde\r\n0\r\n\r\n");
    stand.end(stand.job, EndReason::answered);
    EXPECT_EQ(stand.gate.connections(), 1U);
}

TEST(Connection, CutsAStreamThatBreaksWithoutItsLastChunk) {
    GateStand stand;
    Client& client = stand.ask(get);
    const ExchangePtr exchange = stand.queued();
    exchange->answer.start(&stand.writer).status = 200;
    exchange->answer.flow();
    exchange->answer.append(stand.store, "abc");
    stand.hear(client, "3\r\nabc\r\n");
    exchange->answer.break_off();
    stand.end(stand.job, EndReason::stream_broken);
    EXPECT_TRUE(stand.loop.run_until([&] { return client.is_over; }));
    EXPECT_FALSE(client.got.contains("0\r\n\r\n"));
    EXPECT_EQ(stand.gate.connections(), 0U);
}

/// A client that does not read, and an answer of known length that has filled all room: there is no
/// disk, so there is room again as soon as the client takes something.
struct Jam : GateStand {
    explicit Jam(std::string_view request = get) : client(connect()) {
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
    Jam jam;
    int told = 0;
    jam.writer.go_on = [&] { ++told; };
    jam.client.listen();
    EXPECT_TRUE(jam.loop.run_until([&] { return told > 0; }));
}

TEST(Connection, ClosesOnceWhenItsJobEndsAsItMakesRoom) {
    Jam jam;
    bool has_ended = false;
    jam.writer.go_on = [&] {  // as when AnswerMoved finds that Turnpike-Timeout is over
        jam.end(jam.job, EndReason::deadline_passed);
        has_ended = true;
    };
    jam.client.listen();
    EXPECT_TRUE(jam.loop.run_until([&] { return has_ended; }));
    EXPECT_TRUE(jam.loop.run_until([&] { return jam.client.is_over; }));
    jam.loop.poll();
    EXPECT_EQ(jam.gate.connections(), 0U);
    Client& next = jam.connect();
    Client& other = jam.connect();
    for (Client* client : {&next, &other}) {
        client->listen();
        client->say("GET /-/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
        jam.hear(*client, "ok\n");
    }
    EXPECT_EQ(jam.gate.connections(), 2U);
}

}  // namespace
}  // namespace turnpike
