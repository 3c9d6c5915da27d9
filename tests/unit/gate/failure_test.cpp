// What clients and the log get to read when a native worker fails a job: the worker's message, or
// only that it failed.
#include <gtest/gtest.h>

#include <string>

#include "gate/reply.h"
#include "tests/unit/gate/gate_fixture.h"

namespace turnpike {
namespace {

constexpr std::string_view get = "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr std::string_view words = "ValueError: secret \"path\"";
constexpr std::string_view quoted = "ValueError: secret \\\"path\\\"";

PoolConfig native(ErrorsShown errors = ErrorsShown::to_loopback) {
    return {.name = "only",
            .worker = {.model = {.kind = ModelChoice::Kind::python, .path = "/model.py"}},
            .errors = errors};
}

struct FailingJob : GateFixture {
    explicit FailingJob(PoolConfig pool = native())
        : GateFixture(Config{.pools = {std::move(pool)}}) {
        lanes.resize(1);
    }

    /// Ends the attempt of the latest job without an answer.
    void fail(EndReason reason, std::string_view said = words) {
        const Cause cause = reason == EndReason::bad_input ? Cause::bad_input : Cause::model_failed;
        fail(reason, Trouble{.cause = cause, .said = std::string(said)});
    }
    void fail(EndReason reason, const Trouble& trouble) {
        queued()->attempt.trouble = trouble;
        end(job, reason);
    }
    /// Returns the page that lists the ended jobs.
    std::string page() {
        Client& client = connect(Entrance::command_line);
        client.listen();
        client.say("GET /-/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n");
        hear(client, "\"ended\":[");
        return client.got;
    }
};

std::string problem_of_type(std::string_view slug) {
    return "{\"type\":\"urn:turnpike:problem:" + std::string(slug) + "\"";
}

TEST(Failure, OfBadInputIsToldInTheModelsWordsToEverybody) {
    FailingJob fixture;
    Client& client = fixture.ask_from_afar(get);
    fixture.fail(EndReason::bad_input, "x must be a list");
    fixture.hear(client, problem_of_type("bad-input"));
    EXPECT_TRUE(client.got.starts_with("HTTP/1.1 400 Bad Request\r\n")) << client.got;
    EXPECT_TRUE(client.got.contains("\"detail\":\"x must be a list\"")) << client.got;
    EXPECT_TRUE(client.got.contains("Turnpike-Lane: 0\r\n")) << client.got;
    EXPECT_TRUE(fixture.page().contains("\"detail\":\"bad-input: x must be a list\""));
}

TEST(Failure, NamesTheLogOfItsLaneIfTurnpikeKeepsOne) {
    const auto next_of = [](PoolConfig pool, std::uint32_t attempts) {
        FailingJob fixture(std::move(pool));
        Client& client = fixture.ask_from_afar(get);
        fixture.queued();
        fixture.end(fixture.job, EndReason::worker_died, attempts);
        fixture.hear(client, "\"job\"");
        return client.got.substr(client.got.find("\"next\""));
    };
    const std::string_view command = "the worker's log (turnpike logs 0)";
    EXPECT_TRUE(next_of(native(), 1).contains(command)) << next_of(native(), 1);
    EXPECT_FALSE(next_of(native(), 0).contains("turnpike logs")) << "no lane had it";
    EXPECT_FALSE(next_of({.name = "attached"}, 1).contains("turnpike logs"));
}

TEST(Failure, OfTheModelIsToldInItsWordsOnThisMachine) {
    FailingJob fixture;
    Client& client = fixture.ask(get);
    fixture.fail(EndReason::model_failed);
    fixture.hear(client, problem_of_type("model-failed"));
    EXPECT_TRUE(client.got.starts_with("HTTP/1.1 500 ")) << client.got;
    EXPECT_TRUE(client.got.contains("\"detail\":\"" + std::string(quoted) + '"')) << client.got;
}

TEST(Failure, OfTheModelIsToldInItsWordsToTheCommandLine) {
    FailingJob fixture;
    Client& client = fixture.connect(Entrance::command_line, "");
    client.listen();
    client.say(get);
    fixture.fail(EndReason::model_failed);
    fixture.hear(client, quoted);
}

TEST(Failure, OfTheModelKeepsItsWordsFromOtherMachines) {
    for (const auto& [reason, slug] : {std::pair(EndReason::model_failed, "model-failed"),
                                       std::pair(EndReason::out_of_memory, "out-of-memory"),
                                       std::pair(EndReason::non_finite, "non-finite")}) {
        FailingJob fixture;
        Client& client = fixture.ask_from_afar(get);
        fixture.fail(reason);
        fixture.hear(client, problem_of_type(slug));
        EXPECT_TRUE(client.got.starts_with("HTTP/1.1 500 ")) << client.got;
        EXPECT_FALSE(client.got.contains("secret")) << client.got;
        EXPECT_FALSE(client.got.contains("\"detail\"")) << client.got;
    }
}

TEST(Failure, OfTheModelIsShownToAllIfThePoolAllowsIt) {
    FailingJob fixture(native(ErrorsShown::full));
    Client& client = fixture.ask_from_afar(get);
    fixture.fail(EndReason::out_of_memory);
    fixture.hear(client, problem_of_type("out-of-memory"));
    EXPECT_TRUE(client.got.contains(quoted)) << client.got;
}

TEST(Failure, IsInTheRecordEvenIfItsClientDidNotSeeIt) {
    FailingJob fixture;
    Client& client = fixture.ask_from_afar(get);
    fixture.fail(EndReason::model_failed);
    fixture.hear(client, problem_of_type("model-failed"));
    const std::string page = fixture.page();
    EXPECT_TRUE(page.contains(
        "\"detail\":\"model-failed; not shown to its client: " + std::string(quoted) + '"'))
        << page;
}

TEST(Failure, ThatTheClientSawIsInTheRecordInTheSameWords) {
    FailingJob fixture;
    Client& client = fixture.ask(get);
    fixture.fail(EndReason::model_failed);
    fixture.hear(client, quoted);
    EXPECT_TRUE(fixture.page().contains("\"detail\":\"model-failed: " + std::string(quoted) + '"'));
}

TEST(Failure, OfItsWorkerIsToldToEverybodyButWhatTheWorkerPrintedToNobody) {
    for (const ErrorsShown errors : {ErrorsShown::to_loopback, ErrorsShown::full}) {
        FailingJob fixture(native(errors));
        Client& client = fixture.ask(get);
        fixture.fail(
            EndReason::worker_died,
            {.cause = Cause::worker_died, .told = "exit code 3", .said = "secret of the worker"});
        fixture.hear(client, problem_of_type("worker-died"));
        EXPECT_TRUE(client.got.contains("\"detail\":\"its worker died: exit code 3\""))
            << client.got;
        EXPECT_FALSE(client.got.contains("secret")) << client.got;
        const std::string page = fixture.page();
        EXPECT_TRUE(
            page.contains("\"detail\":\"worker-died: its worker died: exit code 3; its last "
                          "output: secret of the worker\""))
            << page;
    }
}

TEST(Failure, OfAnEarlierAttemptIsNotWhyAJobRanOutOfTime) {
    FailingJob fixture;
    Client& client = fixture.ask(get);
    fixture.fail(
        EndReason::deadline_passed,
        {.cause = Cause::worker_died, .told = "exit code 3", .said = "secret of the worker"});
    fixture.hear(client, problem_of_type("deadline-passed"));
    EXPECT_FALSE(client.got.contains("exit code 3")) << client.got;
    const std::string page = fixture.page();
    EXPECT_TRUE(page.contains("\"detail\":\"deadline-passed\"")) << page;
}

TEST(Failure, ThatIsOursIsToldToEverybodyAlsoIfTheModelsWouldNotBe) {
    FailingJob fixture;
    Client& client = fixture.ask_from_afar(get);
    fixture.fail(EndReason::model_failed,
                 {.cause = Cause::body_not_stored, .told = "No space left on device"});
    fixture.hear(client, problem_of_type("model-failed"));
    EXPECT_TRUE(client.got.contains("its body could not be put into memory: No space left"))
        << client.got;
}

TEST(Failure, WithoutWordsIsTheSentenceAlone) {
    FailingJob fixture;
    Client& client = fixture.ask(get);
    fixture.fail(EndReason::non_finite, "");
    fixture.hear(client, problem_of_type("non-finite"));
    EXPECT_FALSE(client.got.contains("\"detail\"")) << client.got;
}

TEST(Failure, OfAnHttpWorkerIsItsOwnAnswer) {
    FailingJob fixture;
    for (const auto& [reason, status] :
         {std::pair(EndReason::bad_input, 422), std::pair(EndReason::model_failed, 503)}) {
        Client& client = fixture.ask(get);
        const ExchangePtr exchange = fixture.queued();
        exchange->answer.start(&fixture.writer) = {
            .status = status, .fields = {}, .has_length = true, .length = 3};
        exchange->answer.hold();
        exchange->answer.append(fixture.store, "own");
        exchange->answer.complete();
        fixture.end(fixture.job, reason);
        fixture.hear(client, "\r\n\r\nown");
        EXPECT_TRUE(client.got.contains("HTTP/1.1 " + std::to_string(status))) << client.got;
    }
}

TEST(Failure, OfAJobThatEqualsAPoisonNamesTheFirstOneAndIsNotAboutALane) {
    FailingJob fixture;
    Client& first = fixture.ask_from_afar(get);
    const std::string name = fixture.queued()->name;
    const JobId poison = fixture.job;
    fixture.end(poison, EndReason::poison, 2);
    fixture.hear(first, problem_of_type("poison"));
    Client& client = fixture.ask_from_afar(get);
    const std::string own_name = fixture.queued()->name;
    fixture.gate.carry_out(
        EndJob{.job = fixture.job, .reason = EndReason::known_poison, .first = poison});
    fixture.hear(client, problem_of_type("known-poison"));
    EXPECT_TRUE(client.got.starts_with("HTTP/1.1 502 Bad Gateway\r\n")) << client.got;
    EXPECT_TRUE(client.got.contains("x-should-retry: false\r\n")) << client.got;
    EXPECT_FALSE(client.got.contains("Turnpike-Lane")) << client.got;
    const std::string detail = "job " + name + " was the same request and killed two workers";
    EXPECT_TRUE(client.got.contains("\"detail\":\"" + detail + '"')) << client.got;
    EXPECT_TRUE(client.got.contains("\"job\":\"" + own_name + '"')) << client.got;
    const std::string page = fixture.page();
    EXPECT_TRUE(page.contains("\"reason\":\"known_poison\",\"detail\":\"known-poison: " + detail))
        << page;
}

// ── streams ──────────────────────────────────────────────────────────────────────────────────────

constexpr std::string_view events = "Content-Type: text/event-stream; charset=utf-8\r\n";

struct Streaming : FailingJob {
    explicit Streaming(std::string_view fields, PoolConfig pool = native())
        : FailingJob(std::move(pool)) {
        begin(fields, get);
    }
    void begin(std::string_view fields, std::string_view request) {
        client = &ask(request);
        exchange = queued();
        AnswerHead& head = exchange->answer.start(&writer);
        head.status = 200;
        head.fields = fields;
        exchange->answer.flow();
        loop.turn();
    }
    void say(std::string_view bytes) {
        exchange->answer.append(store, bytes);
        loop.turn();
    }
    void break_off(EndReason reason = EndReason::model_failed) {
        exchange->attempt.trouble = {.cause = Cause::model_failed, .said = std::string(words)};
        exchange->answer.break_off();
        end(job, reason);
    }
    void expect_end() {
        EXPECT_TRUE(loop.run_until([&] { return client->is_over; }));
        EXPECT_FALSE(client->got.contains("\r\n0\r\n\r\n")) << client->got;
        EXPECT_EQ(gate.connections(), 0U);
    }

    Client* client = nullptr;
    ExchangePtr exchange;
};

TEST(BrokenStream, OfEventsEndsWithOneThatSaysWhy) {
    Streaming stream(events);
    stream.say("data: one\n\n");
    stream.break_off();
    stream.expect_end();
    const std::string& got = stream.client->got;
    const std::size_t at = got.find("data: one\n\n\r\n");
    ASSERT_NE(at, std::string::npos) << got;
    const std::size_t event =
        got.find("\r\nevent: error\ndata: " + problem_of_type("model-failed"));
    ASSERT_NE(event, std::string::npos) << got;
    EXPECT_LT(at, event);
    EXPECT_TRUE(got.contains(R"(,"error":{"message":"The model failed: )")) << got;
    EXPECT_TRUE(got.ends_with("\"}}\n\n\r\n")) << got;
    EXPECT_TRUE(got.contains(quoted)) << got;
    EXPECT_TRUE(stream.page().contains("\"status\":200,"));
    EXPECT_TRUE(stream.page().contains("\"detail\":\"model-failed: " + std::string(quoted) + '"'));
}

TEST(BrokenStream, SendsAllThatCameBeforeItsLastEvent) {
    Streaming stream(events);
    std::string sent;
    for (int i = 0; i < 40'000; ++i) sent += "data: " + std::to_string(i) + " and some more\n\n";
    stream.client->socket.set_option(boost::asio::socket_base::receive_buffer_size(1000));
    for (std::size_t at = 0; at < sent.size(); at += 100'000) {
        stream.say(std::string_view(sent).substr(at, 100'000));
        stream.loop.poll();
    }
    stream.break_off();
    stream.expect_end();
    EXPECT_TRUE(stream.client->got.contains("data: 39999 and"));
    EXPECT_TRUE(stream.client->got.contains("event: error\ndata: {"));
}

TEST(BrokenStream, EndsAnEventThatIsNotWholeBeforeItsLast) {
    Streaming stream(events);
    stream.say("data: {\"half");
    stream.break_off();
    stream.expect_end();
    EXPECT_TRUE(stream.client->got.contains("\r\n\n\nevent: error\ndata: {")) << stream.client->got;
}

TEST(BrokenStream, SaysWhyEvenIfNoEventCameBefore) {
    Streaming stream(events);
    stream.break_off(EndReason::out_of_memory);
    stream.expect_end();
    EXPECT_TRUE(
        stream.client->got.contains("\r\nevent: error\ndata: " + problem_of_type("out-of-memory")))
        << stream.client->got;
}

TEST(BrokenStream, WhoseJobIsStoppedTellsWhyAndDropsTheRest) {
    Streaming stream(events);
    stream.say("data: one\n\n");
    stream.hear(*stream.client, "data: one");
    stream.end(stream.job, EndReason::ran_too_long);  // its worker goes on streaming
    stream.say("data: late\n\n");
    stream.exchange->answer.complete();
    stream.expect_end();
    EXPECT_TRUE(
        stream.client->got.contains("event: error\ndata: " + problem_of_type("ran-too-long")))
        << stream.client->got;
    EXPECT_FALSE(stream.client->got.contains("late"));
}

TEST(BrokenStream, OfAnythingElseJustEnds) {
    for (const std::string_view fields :
         {"Content-Type: text/plain\r\n", "X-Type: text/event-stream\r\n", ""}) {
        Streaming stream(fields);
        stream.say("half");
        stream.hear(*stream.client, "half");
        stream.break_off();
        stream.expect_end();
        EXPECT_FALSE(stream.client->got.contains("event: error")) << fields;
    }
}

TEST(BrokenStream, OfAnHttpWorkerJustEnds) {
    Streaming stream(events, PoolConfig{.name = "only"});
    stream.say("data: one\n\n");
    stream.hear(*stream.client, "data: one");
    stream.break_off(EndReason::stream_broken);
    stream.expect_end();
    EXPECT_FALSE(stream.client->got.contains("event: error"));
}

TEST(BrokenStream, SaysWhyToClientsWithoutChunks) {
    Streaming stream(events);
    stream.begin(events, "GET /x HTTP/1.0\r\nHost: localhost\r\n\r\n");
    stream.say("data: one\n\n");
    stream.break_off();
    EXPECT_TRUE(stream.loop.run_until([&] { return stream.client->is_over; }));
    const std::size_t event = stream.client->got.find("\nevent: error\ndata: {");
    ASSERT_NE(event, std::string::npos) << stream.client->got;
    EXPECT_LT(stream.client->got.find("data: one\n\n"), event);
}

TEST(EventStream, IsRecognizedByItsContentType) {
    const auto is_one = [](std::string fields) {
        return is_event_stream({.fields = std::move(fields)});
    };
    EXPECT_TRUE(is_one("content-type:text/event-stream\r\n"));
    EXPECT_TRUE(is_one("A: b\r\nContent-Type: Text/Event-Stream ; charset=utf-8\r\nC: d\r\n"));
    EXPECT_FALSE(is_one(""));
    EXPECT_FALSE(is_one("Content-Type: \r\n"));
    EXPECT_FALSE(is_one("Content-Type: text/event-streams\r\n"));
    EXPECT_FALSE(is_one("Content-Type\r\n"));
    EXPECT_FALSE(is_one("X: text/event-stream\r\n"));
}

}  // namespace
}  // namespace turnpike
