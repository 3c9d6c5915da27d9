// Which jobs are the same request, and that a digest is delivered once whatever becomes of its job.
#include "gate/job_digest.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tests/unit/gate/gate_fixture.h"
#include "tests/unit/stream/upload.h"

namespace turnpike {
namespace {

constexpr std::size_t step = 7;

struct Request {
    std::string method = "POST";
    std::string target = "/predict";
    std::string fields = "Content-Type: text/plain\r\n";
    std::string body = "hello";
};

/// Returns the digest of a request whose body is in memory.
Digest digest_of(const Request& request) {
    Upload upload;
    upload.store.memory_max = 1'000'000;
    Wakeups wakeups;
    AnswerAccount answers(wakeups);
    Exchange exchange(wakeups, answers);
    exchange.method = request.method;
    exchange.target = request.target;
    exchange.fields = request.fields;
    EXPECT_EQ(exchange.body.append(upload.store, request.body, [](int) {}), Body::Taken::all);
    return digest_of(exchange, step)();
}

TEST(JobDigest, IsTheSameForTheSameRequest) {
    EXPECT_EQ(digest_of({}), digest_of({}));
    EXPECT_EQ(digest_of({.body = ""}), digest_of({.body = ""}));
    EXPECT_EQ(digest_of({.fields = ""}), digest_of({.fields = "X-Trace: 1\r\nAccept: a/b\r\n"}));
    EXPECT_EQ(digest_of({.fields = "Content-Type: a/b\r\n"}),
              digest_of({.fields = "Turnpike-Job: x\r\ncontent-type: a/b\r\n"}));
}

/// The expected value was computed by another program.
TEST(JobDigest, IsTheFirstHalfOfASha256) {
    const Digest digest = digest_of({});
    EXPECT_EQ(digest.high, 0xd3b12d20641e78baU);
    EXPECT_EQ(digest.low, 0x4fda63800203bc06U);
}

TEST(JobDigest, DiffersIfAnyPartDiffers) {
    const std::vector<Request> requests{
        {},
        {.method = "PUT"},
        {.target = "/predict?a=1"},
        {.fields = ""},
        {.fields = "Content-Type: text/html\r\n"},
        {.fields = "Content-Type: text/plain\r\nContent-Encoding: gzip\r\n"},
        {.fields = "Content-Encoding: text/plain\r\n"},
        {.fields = "Content-Encoding: gzip\r\n"},
        {.fields =
             "Content-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Encoding: br\r\n"},
        {.body = ""},
        {.body = "hellp"},
        {.body = "hello "},
    };
    for (std::size_t i = 0; i < requests.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            EXPECT_NE(digest_of(requests[i]), digest_of(requests[j])) << i << " and " << j;
}

TEST(JobDigest, KeepsItsPartsApart) {
    EXPECT_NE(digest_of({.method = "GET", .target = "/ab"}),
              digest_of({.method = "GET/", .target = "ab"}));
    EXPECT_NE(digest_of({.target = "/a", .fields = "Content-Type: bc\r\n"}),
              digest_of({.target = "/ab", .fields = "Content-Type: c\r\n"}));
    EXPECT_NE(digest_of({.fields = "Content-Type: ab\r\nContent-Encoding: c\r\n"}),
              digest_of({.fields = "Content-Type: a\r\nContent-Encoding: bc\r\n"}));
    EXPECT_NE(digest_of({.fields = "Content-Encoding: a\r\n", .body = "bc"}),
              digest_of({.fields = "Content-Encoding: ab\r\n", .body = "c"}));
}

TEST(JobDigest, OfABodyOnDiskIsThatOfTheSameBodyInMemory) {
    const Request request{.body = numbered(1000)};
    Upload upload;
    Wakeups wakeups;
    AnswerAccount answers(wakeups);
    Exchange exchange(wakeups, answers);
    exchange.method = request.method;
    exchange.target = request.target;
    exchange.fields = request.fields;
    ASSERT_EQ(exchange.body.append(upload.store, request.body, upload.record_result()),
              Body::Taken::wait);
    ASSERT_TRUE(upload.has_resumed());
    ASSERT_FALSE(exchange.body.is_in_memory());
    EXPECT_EQ(digest_of(exchange, step)(), digest_of(request));
}

TEST(JobDigest, ThatIsRandomEqualsNoOther) {
    EXPECT_NE(random_digest(), random_digest());
    EXPECT_NE(random_digest(), Digest{});
}

// ── the gate ─────────────────────────────────────────────────────────────────────────────────────

struct HashingGate : GateFixture {
    using GateFixture::GateFixture;

    std::string post(std::string_view body) {
        return "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
               "Content-Length: " +
               std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
    }
    /// Returns the digests that were delivered for this job.
    [[nodiscard]] std::vector<Digest> digests_of(JobId which) const {
        std::vector<Digest> digests;
        for (const Event& event : events)
            if (const auto* hashed = std::get_if<JobHashed>(&event); hashed && hashed->job == which)
                digests.push_back(hashed->digest);
        return digests;
    }
    /// Waits until everything that the disk thread was asked to do was delivered.
    void settle() {
        EXPECT_TRUE(loop.run_until([&] { return !background.is_busy(); }));
    }
};

TEST(HashingGate, DeliversTheDigestOfALiveJob) {
    HashingGate fixture;
    fixture.ask(fixture.post("hello"));
    fixture.queued();
    fixture.gate.carry_out(HashJob{fixture.job});
    EXPECT_EQ(fixture.count<JobHashed>(), 0) << "it is computed off the loop";
    fixture.settle();
    EXPECT_EQ(fixture.digests_of(fixture.job), std::vector{digest_of(Request{})});
}

TEST(HashingGate, DeliversTheDigestOfAJobThatEndsInTheSameTurn) {
    for (const std::size_t size : {5U, 5'000U}) {
        HashingGate fixture;
        fixture.store.memory_max = 1'000;
        const std::string bytes = numbered(size);
        Client& client = fixture.ask(fixture.post(bytes));
        EXPECT_EQ(fixture.queued()->body.is_in_memory(), size == 5);
        const JobId poison = fixture.job;
        std::promise<void> go_on;
        fixture.background.run([told = go_on.get_future()] { return told.wait(), 0; }, [](int) {});
        fixture.gate.carry_out(HashJob{poison});
        fixture.end(poison, EndReason::poison);
        fixture.hear(client, "urn:turnpike:problem:poison");
        client.say(fixture.post("another"));  // may get the exchange of the first job
        fixture.queued();
        go_on.set_value();
        fixture.settle();
        EXPECT_EQ(fixture.digests_of(poison), std::vector{digest_of({.body = bytes})});
    }
}

TEST(HashingGate, DeliversTheDigestOfAJobWhoseClientLeft) {
    HashingGate fixture;
    Client& client = fixture.ask(fixture.post("hello"));
    fixture.queued();
    fixture.gate.carry_out(HashJob{fixture.job});
    client.leave();
    EXPECT_TRUE(fixture.loop.run_until([&] { return fixture.count<ClientLeft>() == 1; }));
    fixture.settle();
    EXPECT_EQ(fixture.digests_of(fixture.job), std::vector{digest_of(Request{})});
}

TEST(HashingGate, DeliversADigestThatEqualsNoOtherIfTheBodyCanNotBeRead) {
    HashingGate fixture;
    fixture.store.memory_max = 100;
    fixture.ask(fixture.post(numbered(5'000)));
    ASSERT_FALSE(fixture.queued()->body.is_in_memory());
    fixture.gate.carry_out(HashJob{fixture.job});
    fixture.settle();
    truncate_open_files(fixture.folder.file(""));
    fixture.gate.carry_out(HashJob{fixture.job});
    fixture.gate.carry_out(HashJob{fixture.job});
    fixture.settle();
    const std::vector<Digest> digests = fixture.digests_of(fixture.job);
    ASSERT_EQ(digests.size(), 3U);
    EXPECT_NE(digests[0], digests[1]);
    EXPECT_NE(digests[1], digests[2]);
    EXPECT_NE(digests[0], digests[2]);
}

TEST(HashingGate, AnswersForAJobThatItDoesNotKnow) {
    HashingGate fixture;
    fixture.gate.carry_out(HashJob{JobId{77}});
    fixture.settle();
    EXPECT_EQ(fixture.digests_of(JobId{77}).size(), 1U);
}

}  // namespace
}  // namespace turnpike
