// The answers of a native worker to its jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "supervisor/native/native_attempts.h"
#include "tests/unit/supervisor/native/native_stand.h"

namespace turnpike {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::IsEmpty;

// ── whole answers ────────────────────────────────────────────────────────────────────────────────

TEST(NativeAnswers, AreTakenWhole) {
    NativeStand stand;
    const std::uint64_t id = stand.start(0);
    int told = 0;
    stand.reader.act = [&] { ++told; };
    stand.say(wire::Done{.id = id,
                         .status = 201,
                         .fields = "X-Model: a\r\nTurnpike-Job: forged\r\nDate: today\r\n",
                         .body = {.bytes = "hello"}});
    EXPECT_EQ(stand.verdict(0), Verdict::answered);
    EXPECT_EQ(stand.count<AnswerBegun>(), 0) << "it is not streamed";
    EXPECT_EQ(told, 0) << "its client hears of it when the job ends";
    EXPECT_EQ(stand.answer(0).state(), AnswerState::complete);
    const AnswerHead& head = stand.answer(0).head();
    EXPECT_EQ(head.status, 201);
    EXPECT_EQ(head.fields, "X-Model: a\r\nDate: today\r\n");
    EXPECT_TRUE(head.has_date);
    EXPECT_TRUE(head.has_length);
    EXPECT_TRUE(head.has_body);
    EXPECT_EQ(head.length, 5U);
    EXPECT_EQ(stand.answer(0).front(), "hello");
    EXPECT_EQ(stand.exchange(0).attempt.trouble, Trouble{});
    EXPECT_THAT(stand.attempts.aboard(), IsEmpty());
}

TEST(NativeAnswers, AreJudgedByTheirStatus) {
    const std::vector<std::pair<std::uint16_t, Verdict>> rows{
        {200, Verdict::answered},     {204, Verdict::answered},    {304, Verdict::answered},
        {399, Verdict::answered},     {400, Verdict::bad_input},   {499, Verdict::bad_input},
        {500, Verdict::model_failed}, {599, Verdict::model_failed}};
    for (const auto& [status, verdict] : rows) {
        for (const bool is_streamed : {false, true}) {
            NativeStand stand;
            const std::uint64_t id = stand.start(0);
            if (is_streamed) stand.say(wire::Begin{.id = id, .status = status});
            stand.say(wire::Done{.id = id, .status = is_streamed ? std::uint16_t{0} : status});
            EXPECT_EQ(stand.verdict(0), verdict) << status << (is_streamed ? " streamed" : "");
            EXPECT_EQ(stand.answer(0).state(), AnswerState::complete);
        }
    }
}

TEST(NativeAnswers, ToHeadTellTheLengthAndHaveNoBody) {
    NativeStand stand;
    const std::uint64_t id = stand.start(0, "", "HEAD");
    stand.say(wire::Done{.id = id, .status = 200, .body = {.bytes = "hello"}});
    EXPECT_EQ(stand.verdict(0), Verdict::answered);
    EXPECT_FALSE(stand.answer(0).head().has_body);
    EXPECT_EQ(stand.answer(0).head().fields, "Content-Length: 5\r\n");
    EXPECT_EQ(stand.answer(0).front(), "");
}

TEST(NativeAnswers, ToHeadMayComeByDescriptorOrAsAStream) {
    NativeStand stand;
    std::uint64_t id = stand.start(0, "", "HEAD");
    stand.say(
        wire::Done{.id = id, .status = 200, .body = {.in_descriptor = 5, .is_in_descriptor = true}},
        make_memfd("hello"));
    EXPECT_EQ(stand.verdict(0), Verdict::answered);
    EXPECT_EQ(stand.answer(0).head().fields, "Content-Length: 5\r\n");
    EXPECT_TRUE(stand.answer(0).is_drained());
    EXPECT_EQ(stand.count<AnswerBegun>(), 0);

    id = stand.start(1, "", "HEAD");
    stand.say(wire::Begin{.id = id});
    stand.say(wire::Chunk{.id = id, .bytes = "nobody wants it"});
    stand.say(wire::Done{.id = id});
    EXPECT_EQ(stand.verdict(1), Verdict::answered);
    EXPECT_TRUE(stand.answer(1).is_drained());
}

TEST(NativeAnswers, WithoutContentDropABodyAndTellNoLength) {
    for (const std::string method : {"GET", "HEAD"}) {
        NativeStand stand;
        const std::uint64_t id = stand.start(0, "", method);
        stand.say(wire::Done{.id = id, .status = 204, .body = {.bytes = "hello"}});
        EXPECT_EQ(stand.verdict(0), Verdict::answered);
        EXPECT_FALSE(stand.answer(0).head().has_body);
        EXPECT_EQ(stand.answer(0).head().fields, "") << method;
        EXPECT_TRUE(stand.answer(0).is_drained());
    }
}

// ── announced lengths ────────────────────────────────────────────────────────────────────────────

TEST(NativeAnswers, ThatStreamMayAnnounceTheirLength) {
    NativeStand stand;
    const std::uint64_t id = stand.start(0, "", "GET");
    stand.say(wire::Begin{.id = id, .fields = "A: b\r\ncontent-length: 5\r\n"});
    stand.say(wire::Chunk{.id = id, .bytes = "hel"});
    stand.say(wire::Chunk{.id = id, .bytes = "lo"});
    stand.say(wire::Done{.id = id});
    EXPECT_EQ(stand.verdict(0), Verdict::answered);
    const AnswerHead& head = stand.answer(0).head();
    EXPECT_TRUE(head.has_length);
    EXPECT_EQ(head.length, 5U);
    EXPECT_EQ(head.fields, "A: b\r\n") << "the gate writes the length itself";
    EXPECT_EQ(stand.answer(0).front(), "hello");
    EXPECT_FALSE(stand.broke);
}

TEST(NativeAnswers, AreHeldToTheLengthThatTheyAnnounced) {
    for (const std::string_view body : {"hell", "hello!"}) {
        NativeStand stand;
        const std::uint64_t id = stand.start(0, "", "GET");
        stand.say(wire::Begin{.id = id, .fields = "Content-Length: 5\r\n"});
        stand.say(wire::Chunk{.id = id, .bytes = body});
        if (!stand.broke) stand.say(wire::Done{.id = id});
        EXPECT_EQ(stand.broke, wire::Breach::length_broken) << body;
        EXPECT_NE(stand.answer(0).state(), AnswerState::complete);
    }
}

TEST(NativeAnswers, OfCancelledJobsMayEndEarly) {
    NativeStand stand;
    const std::uint64_t id = stand.start(0, "", "GET");
    stand.say(wire::Begin{.id = id, .fields = "Content-Length: 5\r\n"});
    stand.attempts.cancel(NativeStand::attempt(0));
    stand.say(wire::Done{.id = id});
    EXPECT_EQ(stand.verdict(0), Verdict::cancelled);
    EXPECT_FALSE(stand.broke);
}

TEST(NativeAnswers, ForgetTheLengthOfTheJobBefore) {
    NativeStand stand;
    std::uint64_t id = stand.start(0, "", "GET");
    stand.say(wire::Begin{.id = id, .fields = "Content-Length: 5\r\n"});
    stand.say(wire::Failed{.id = id});
    id = stand.start(1, "", "GET");
    stand.say(wire::Begin{.id = id});
    stand.say(wire::Chunk{.id = id, .bytes = "of any length"});
    stand.say(wire::Done{.id = id});
    EXPECT_EQ(stand.verdict(1), Verdict::answered);
    EXPECT_FALSE(stand.answer(1).head().has_length);
}

TEST(NativeAnswers, WithoutBodyTellTheLengthThatWasAnnounced) {
    struct Row {
        std::string method;
        std::uint16_t status;
        std::string fields;
    };
    const std::vector<Row> rows{{"HEAD", 200, "Content-Length: 5\r\n"},
                                {"GET", 304, "Content-Length: 5\r\n"},
                                {"HEAD", 204, ""},
                                {"GET", 204, ""}};
    for (const Row& row : rows) {
        NativeStand stand;
        const std::uint64_t id = stand.start(0, "", row.method);
        stand.say(wire::Begin{.id = id, .status = row.status, .fields = "Content-Length: 5\r\n"});
        stand.say(wire::Done{.id = id});
        EXPECT_EQ(stand.verdict(0), Verdict::answered);
        EXPECT_EQ(stand.answer(0).head().fields, row.fields) << row.method << " " << row.status;
        EXPECT_FALSE(stand.answer(0).head().has_body);
        EXPECT_FALSE(stand.broke);
    }
}

// ── failures ─────────────────────────────────────────────────────────────────────────────────────

TEST(NativeAnswers, ThatFailedTellWhy) {
    using wire::FailWhy;
    struct Row {
        FailWhy why;
        Verdict verdict;
        Cause cause;
        std::string said;
    };
    const std::vector<Row> rows{
        {FailWhy::bad_input, Verdict::bad_input, Cause::bad_input, "no such key"},
        {FailWhy::exception, Verdict::model_failed, Cause::model_failed, "KeyError: no such key"},
        {FailWhy::out_of_memory, Verdict::out_of_memory, Cause::model_failed,
         "KeyError: no such key"},
        {FailWhy::non_finite, Verdict::non_finite, Cause::model_failed, "KeyError: no such key"},
        {FailWhy::unhealthy, Verdict::unhealthy, Cause::worker_gives_up, "KeyError: no such key"},
        {FailWhy::cancelled, Verdict::cancelled, Cause::model_failed, "KeyError: no such key"}};
    for (const Row& row : rows) {
        for (const bool is_streamed : {false, true}) {
            NativeStand stand;
            const std::uint64_t id = stand.start(0);
            if (is_streamed) stand.say(wire::Begin{.id = id});
            stand.say(wire::Failed{
                .id = id, .why = row.why, .type = "KeyError", .message = "no such key"});
            EXPECT_EQ(stand.verdict(0), row.verdict);
            EXPECT_EQ(stand.exchange(0).attempt.trouble,
                      (Trouble{.cause = row.cause, .said = row.said}));
            EXPECT_EQ(stand.answer(0).state(),
                      is_streamed ? AnswerState::broken : AnswerState::none);
            EXPECT_THAT(stand.attempts.aboard(), IsEmpty());
        }
    }
}

TEST(NativeAnswers, ThatFailedOnALaneWithoutAGpuNeverSayThatItsMemoryRanOut) {
    using Lane = NativeStand::Lane;
    for (const bool is_cancelled : {false, true}) {
        NativeStand stand(Lane::cpu);
        const std::uint64_t id = stand.start(0);
        if (is_cancelled) stand.attempts.cancel(NativeStand::attempt(0));
        stand.say(wire::Failed{.id = id, .why = wire::FailWhy::out_of_memory, .message = "CUDA"});
        EXPECT_EQ(stand.verdict(0), is_cancelled ? Verdict::cancelled : Verdict::model_failed);
        EXPECT_EQ(stand.exchange(0).attempt.trouble,
                  (Trouble{.cause = Cause::model_failed, .said = "CUDA"}));
    }
}

TEST(NativeAnswers, ThatFailedAreToldInOneLine) {
    EXPECT_EQ(words_of({.type = "KeyError", .message = "x"}), "KeyError: x");
    EXPECT_EQ(words_of({.type = "KeyError", .message = ""}), "KeyError");
    EXPECT_EQ(words_of({.type = "", .message = "x"}), "x");
    EXPECT_EQ(words_of({.why = wire::FailWhy::bad_input, .type = "BadInput", .message = "x"}), "x");
    EXPECT_EQ(words_of({}), "");
}

// ── streams ──────────────────────────────────────────────────────────────────────────────────────

TEST(NativeAnswers, FlowWhenTheyBegin) {
    NativeStand stand;
    const std::uint64_t id = stand.start(0);
    stand.say(wire::Begin{.id = id, .status = 206, .fields = "Content-Type: text/plain\r\n"});
    EXPECT_EQ(stand.answer(0).state(), AnswerState::flowing);
    EXPECT_EQ(stand.count<AnswerBegun>(), 1);
    EXPECT_FALSE(stand.answer(0).head().has_length);
    EXPECT_EQ(stand.answer(0).head().fields, "Content-Type: text/plain\r\n");
    stand.say(wire::Chunk{.id = id, .bytes = "hel"});
    stand.say(wire::Chunk{.id = id, .bytes = "lo"});
    EXPECT_EQ(stand.answer(0).front(), "hello");
    EXPECT_FALSE(stand.verdict(0));
    stand.say(wire::Done{.id = id});
    EXPECT_EQ(stand.verdict(0), Verdict::answered);
    EXPECT_EQ(stand.answer(0).state(), AnswerState::complete);
    EXPECT_EQ(stand.answer(0).front(), "hello");
}

TEST(NativeAnswers, PauseWhileNobodyTakesThemAndGoOnWhenSomebodyDoes) {
    NativeStand stand;
    const std::uint64_t id = stand.start(0);
    stand.say(wire::Begin{.id = id});
    std::string said;
    for (int i = 0; i < 40; ++i) {
        const std::string piece = numbered(50);
        stand.say(wire::Chunk{.id = id, .bytes = piece});
        said += piece;
    }
    stand.settle();
    stand.peer.hear();
    EXPECT_THAT(stand.peer.told, ElementsAre("pause " + std::to_string(id))) << "once";
    EXPECT_EQ(stand.read_out(0), said) << "what was under way is not lost";
    stand.peer.hear();
    EXPECT_THAT(stand.peer.told,
                ElementsAre("pause " + std::to_string(id), "resume " + std::to_string(id)));
    stand.say(wire::Chunk{.id = id, .bytes = numbered(500)});
    stand.peer.hear();
    EXPECT_EQ(stand.peer.told.size(), 3U) << "and again";
    stand.say(wire::Done{.id = id});
    EXPECT_EQ(stand.read_out(0), numbered(500));
    stand.peer.hear();
    EXPECT_EQ(stand.peer.told.size(), 3U) << "nobody resumes what has ended";
    EXPECT_EQ(stand.verdict(0), Verdict::answered);
}

TEST(NativeAnswers, GoOnWhenTheirClientLeavesWhileTheyPause) {
    NativeStand stand;
    const std::uint64_t id = stand.start(0);
    stand.say(wire::Begin{.id = id});
    stand.say(wire::Chunk{.id = id, .bytes = numbered(500)});
    stand.peer.hear();
    ASSERT_THAT(stand.peer.told, ElementsAre("pause " + std::to_string(id)));
    stand.answer(0).abandon();
    stand.loop.turn();
    stand.peer.hear();
    EXPECT_EQ(stand.peer.told.back(), "resume " + std::to_string(id));
    stand.say(wire::Chunk{.id = id, .bytes = numbered(5000)});
    stand.peer.hear();
    EXPECT_EQ(stand.peer.told.size(), 2U);
    stand.say(wire::Done{.id = id});
    EXPECT_EQ(stand.verdict(0), Verdict::answered);
}

// ── progress and stacks ──────────────────────────────────────────────────────────────────────────

TEST(NativeAnswers, ShowTheProgressThatTheModelReports) {
    NativeStand stand;
    const std::uint64_t id = stand.start(0);
    stand.say(wire::Progress{.id = id, .permille = 250, .text = "a quarter"});
    EXPECT_EQ(stand.exchange(0).attempt.progress.permille, std::uint16_t{250});
    EXPECT_EQ(stand.exchange(0).attempt.progress.text, "a quarter");
    stand.say(wire::Progress{.id = id, .text = "who knows"});
    EXPECT_FALSE(stand.exchange(0).attempt.progress.permille);
    EXPECT_EQ(stand.exchange(0).attempt.progress.text, "who knows");
    EXPECT_THAT(stand.events, IsEmpty()) << "not for each one";
}

TEST(NativeAnswers, RenewTheTimeoutOfTheirJobNowAndThen) {
    NativeStand stand;
    const std::uint64_t id = stand.start(0);
    const std::uint64_t other = stand.start(1);
    stand.say(wire::Begin{.id = other});
    boost::asio::steady_timer timer(stand.loop.context(), std::chrono::milliseconds(260));
    bool is_later = false;
    timer.async_wait([&](boost::system::error_code) { is_later = true; });
    EXPECT_TRUE(stand.loop.run_until([&] { return is_later; }));
    for (int i = 0; i < 3; ++i) stand.say(wire::Progress{.id = id, .text = "on"});
    EXPECT_THAT(stand.count<AnswerMoved>(), AnyOf(1, 2)) << "2: on a slow machine";
    const int before = stand.count<AnswerMoved>();
    stand.say(wire::Chunk{.id = other, .bytes = "x"});
    EXPECT_EQ(stand.count<AnswerMoved>(), before + 1);
    const auto* moved = std::get_if<AnswerMoved>(&stand.events.back());
    ASSERT_NE(moved, nullptr);
    EXPECT_EQ(moved->attempt, NativeStand::attempt(1));
}

TEST(NativeAnswers, KeepTheStacksOfTheirWorkerForTheRecordsOfSeveralJobs) {
    NativeStand stand;
    for (std::uint64_t job = 0; job < 3; ++job) stand.start(job);
    const std::uint64_t ended = stand.start(3);
    const ExchangePtr kept = stand.exchanges.find(JobId{3});
    stand.say(wire::Done{.id = ended, .status = 200});
    const AttemptId attempts[] = {NativeStand::attempt(0), NativeStand::attempt(2),
                                  NativeStand::attempt(3), AttemptId{}};
    stand.attempts.add_stacks(attempts, "in main()");
    EXPECT_EQ(stand.exchange(0).attempt.stacks, "in main()");
    EXPECT_EQ(stand.exchange(1).attempt.stacks, "");
    EXPECT_EQ(stand.exchange(2).attempt.stacks, "in main()");
    EXPECT_EQ(kept->attempt.stacks, "") << "it has ended";
}

// ── large answers ────────────────────────────────────────────────────────────────────────────────

wire::Done by_descriptor(std::uint64_t id, std::uint64_t size) {
    return {.id = id, .status = 200, .body = {.in_descriptor = size, .is_in_descriptor = true}};
}

TEST(NativeAnswers, MayComeByDescriptor) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{5000}}) {
        NativeStand stand;
        const std::uint64_t id = stand.start(0);
        const std::string body = numbered(size);
        stand.say(by_descriptor(id, size), make_memfd(body));
        EXPECT_EQ(stand.verdict(0), Verdict::answered) << "the lane is free before it is read";
        EXPECT_EQ(stand.count<AnswerBegun>(), 1);
        EXPECT_EQ(stand.answer(0).state(), AnswerState::complete);
        EXPECT_EQ(stand.answer(0).head().length, size);
        EXPECT_EQ(stand.read_out(0), body);
        EXPECT_FALSE(stand.broke);
    }
}

TEST(NativeAnswers, ByAnUnfitDescriptorAreABreach) {
    constexpr int no_write_seal = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    const auto breach_by = [](UniqueFd file, std::uint64_t size) {
        NativeStand stand;
        const std::uint64_t id = stand.start(0);
        stand.say(by_descriptor(id, size), file);
        EXPECT_FALSE(stand.verdict(0)) << "its worker's end ends it";
        EXPECT_EQ(stand.answer(0).state(), AnswerState::none);
        EXPECT_EQ(stand.attempts.aboard().size(), 1U);
        return stand.broke.value_or(wire::Breach::none);
    };
    using wire::Breach;
    EXPECT_EQ(breach_by(make_memfd("hello", no_write_seal), 5), Breach::descriptor_unfit);
    EXPECT_EQ(breach_by(make_memfd("hello", F_SEAL_WRITE), 5), Breach::descriptor_unfit);
    EXPECT_EQ(breach_by(make_memfd("hello"), 4), Breach::descriptor_unfit);
    EXPECT_EQ(breach_by(make_memfd("hello"), 6), Breach::descriptor_unfit);
    EXPECT_EQ(breach_by(UniqueFd(::open("/dev/zero", O_RDONLY | O_CLOEXEC)), 5),
              Breach::descriptor_unfit);
    EXPECT_EQ(breach_by(UniqueFd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), 5),
              Breach::descriptor_unfit);
    EXPECT_EQ(breach_by(UniqueFd(), 5), Breach::descriptor_missing);
}

}  // namespace
}  // namespace turnpike
