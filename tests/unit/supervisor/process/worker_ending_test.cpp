#include "supervisor/process/worker_ending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>

#include "tests/unit/stream/disk.h"

namespace turnpike {
namespace {

using testing::StartsWith;

WorkerEnd ended(const ExitStatus& exit) { return {.how = words_for(exit), .exit = exit}; }
WorkerEnd exited(int code) { return ended({.code = CLD_EXITED, .status = code}); }
WorkerEnd killed(int signal) { return ended({.code = CLD_KILLED, .status = signal}); }

/// What a worker printed, and how it then ended.
struct Case {
    WorkerEnd end;
    std::string said = {};  // to stderr
    Reason ordered = Reason::none;
    LaneTrouble trouble_before = {};
};

std::string all_trouble(const WorkerEnding& ending) { return text_of(trouble_of(ending)); }

class EndedWorker : public testing::Test {
protected:
    void say(LogStream stream, std::string_view text, std::uint64_t writer = 0) {
        LogSource source{.stream = stream, .writer = writer};
        log_.take(source, text, 0);
        log_.end(source, 0);
    }
    [[nodiscard]] WorkerEnding ending(const WorkerEnd& end) const {
        return {.end = end, .trouble_before = {}, .log = log_, .log_began = log_began_};
    }
    /// Returns the ending of one of the workers that write to this lane's log at the same time.
    [[nodiscard]] WorkerEnding ending_of(std::uint64_t writer, const WorkerEnd& end,
                                         Reason ordered = Reason::none) const {
        return {.end = end,
                .ordered = ordered,
                .load_timeout = std::chrono::minutes(1),
                .trouble_before = {},
                .log = log_,
                .writer = writer};
    }

    LaneLog log_;
    std::uint64_t log_began_ = 0;
};

LaneTrouble parts_in(const Case& given) {
    LaneLog log;
    LogSource source{.stream = LogStream::err};
    log.take(source, given.said, 0);
    return trouble_of({.end = given.end,
                       .ordered = given.ordered,
                       .load_timeout = std::chrono::minutes(30),
                       .trouble_before = given.trouble_before,
                       .log = log});
}

std::string trouble_in(const Case& given) { return text_of(parts_in(given)); }

TEST(TroubleOfAWorker, KeepsWhatItSaidApartFromHowItEnded) {
    EXPECT_EQ(
        parts_in({.end = exited(1), .said = "ImportError: no torch\n"}),
        (LaneTrouble{
            .cause = LaneCause::exited, .told = "exit code 1", .said = "ImportError: no torch"}));
    const WorkerEnd lost{.how = "its guard died: killed by SIGKILL", .exit = std::nullopt};
    EXPECT_EQ(parts_in({.end = lost}).told, lost.how) << "all of it is ours";
    EXPECT_EQ(
        parts_in({.end = killed(SIGKILL), .said = "shard: 3\n", .ordered = Reason::load_silent}),
        (LaneTrouble{.cause = LaneCause::load_silent,
                     .told = "no progress for 30min (load_timeout)",
                     .said = "shard: 3"}));
    EXPECT_EQ(parts_in({.end = killed(SIGKILL),
                        .ordered = Reason::load_silent,
                        .trouble_before = {.cause = LaneCause::proof_failed,
                                           .told = "the proof failed",
                                           .said = "KeyError: x"}}),
              (LaneTrouble{.cause = LaneCause::load_silent,
                           .told = "no progress for 30min (load_timeout): the proof failed",
                           .said = "KeyError: x"}));
}

TEST(TroubleOfAWorker, ThatEndedByItselfIsHowAndWhatItSaidLast) {
    EXPECT_EQ(trouble_in({.end = exited(1), .said = "loading\nImportError: no torch\n\n"}),
              "exit code 1: ImportError: no torch");
    EXPECT_EQ(trouble_in({.end = exited(1), .said = "not a whole line"}),
              "exit code 1: not a whole line");
    EXPECT_EQ(trouble_in({.end = exited(1)}), "exit code 1");
}

TEST(TroubleOfAWorker, HasAHintForExitCodesThatItDidNotChoose) {
    EXPECT_EQ(trouble_in({.end = exited(0)}), "exit code 0 (a worker must stay in the foreground)");
    EXPECT_EQ(trouble_in({.end = exited(126), .said = "sh: 1: x: Permission denied\n"}),
              "exit code 126 (the shell is not allowed to run the program): sh: 1: x: "
              "Permission denied");
    EXPECT_EQ(trouble_in({.end = exited(127), .said = "sh: 1: uvicorn: not found\n"}),
              "exit code 127 (the shell did not find the program): sh: 1: uvicorn: not found");
}

TEST(TroubleOfAWorker, ThatWasKilledFromOutsideLeavesOutWhatItSaidBefore) {
    for (const int signal : {SIGKILL, SIGTERM}) {
        const WorkerEnd end = killed(signal);
        EXPECT_EQ(trouble_in({.end = end, .said = "GET /health 200\n"}), end.how);
    }
    EXPECT_THAT(trouble_in({.end = killed(SIGSEGV), .said = "fault\n"}),
                StartsWith("killed by SIGSEGV"));
}

TEST(TroubleOfAWorker, WhoseEndNobodySawIsWhatIsKnown) {
    const WorkerEnd end{.how = "its guard died: killed by SIGKILL", .exit = std::nullopt};
    EXPECT_THAT(trouble_in({.end = end}), StartsWith("its guard died: killed by SIGKILL"));
}

TEST(TroubleOfAWorker, ThatWeEndedIsWhyWeEndedIt) {
    const WorkerEnd end = killed(SIGKILL);
    EXPECT_THAT(trouble_in({.end = end, .ordered = Reason::proof_failed}),
                testing::HasSubstr("it gave a wrong answer to its proof"));
    EXPECT_EQ(trouble_in({.end = end,
                          .said = "nonsense\n",
                          .ordered = Reason::proof_failed,
                          .trouble_before = {.cause = LaneCause::wrong_answer,
                                             .told = "the proof's answer is wrong"}}),
              "the proof's answer is wrong");
    EXPECT_EQ(trouble_in({.end = end, .said = "x\n", .ordered = Reason::gpu_lost}), "");
}

TEST(TroubleOfAWorker, ThatLoadedInSilenceIsWhatItSaidOrWhatWasWrong) {
    const WorkerEnd end = killed(SIGKILL);
    EXPECT_EQ(trouble_in({.end = end, .ordered = Reason::load_silent}),
              "no progress for 30min (load_timeout)");
    EXPECT_EQ(trouble_in({.end = end, .said = "shard 3\n", .ordered = Reason::load_silent}),
              "no progress for 30min (load_timeout): shard 3");
    EXPECT_EQ(trouble_in({.end = end,
                          .said = "shard 3\n",
                          .ordered = Reason::load_silent,
                          .trouble_before = {.cause = LaneCause::refused,
                                             .told = "nobody listens on port 20001"}}),
              "no progress for 30min (load_timeout): nobody listens on port 20001");
}

TEST_F(EndedWorker, WhatItSaidLastIsALineOfStderrWhereThereIsOne) {
    const WorkerEnd end = exited(1);
    say(LogStream::out, "name? ");
    EXPECT_EQ(all_trouble(ending(end)), "exit code 1: name? ");
    say(LogStream::err, "EOFError: EOF when reading a line\n\n");
    say(LogStream::out, "no newline yet");
    EXPECT_EQ(all_trouble(ending(end)), "exit code 1: EOFError: EOF when reading a line");
    EXPECT_EQ(last_words(ending(end)), "EOFError: EOF when reading a line");
    say(LogStream::err, "turnpike: model.py has no Net.\n");
    EXPECT_EQ(all_trouble(ending(end)), "exit code 1: model.py has no Net.");
    log_began_ = log_.newest();
    say(LogStream::out, "the next worker\n");
    EXPECT_EQ(all_trouble(ending(end)), "exit code 1: the next worker");
}

TEST_F(EndedWorker, ALineOfStderrFromLongAgoIsNotWhatItSaidLast) {
    const WorkerEnd end = exited(1);
    say(LogStream::err, "a warning at its start\n");
    for (int i = 1; i <= 50; ++i) say(LogStream::out, std::to_string(i) + "\n");
    EXPECT_EQ(all_trouble(ending(end)), "exit code 1: 50");
}

TEST_F(EndedWorker, LastWordsAreTheLastFiveLinesOfStderr) {
    const WorkerEnd end = exited(1);
    EXPECT_EQ(last_words(ending(end)), "");
    say(LogStream::err, "1\n2\n\n3\n");
    say(LogStream::out, "not this\n");
    log_.remark("nor this", 0);
    say(LogStream::err, "4\n5\n6\n");
    EXPECT_EQ(last_words(ending(end)), "2 | 3 | 4 | 5 | 6");
}

TEST_F(EndedWorker, WordsOfTheWorkerBeforeAreNotTheLastOnes) {
    const WorkerEnd end = exited(1);
    say(LogStream::err, "of another worker\n");
    log_began_ = log_.newest();
    EXPECT_EQ(last_words(ending(end)), "");
    EXPECT_EQ(last_lines(ending(end)), "");
    say(LogStream::out, "o\n");
    say(LogStream::err, "e\n");
    EXPECT_EQ(last_words(ending(end)), "e");
    EXPECT_EQ(last_lines(ending(end)), "out o\nerr e\n");
}

TEST_F(EndedWorker, OfLinesTheLastFiftyAreKept) {
    const WorkerEnd end = exited(1);
    for (int i = 1; i <= 51; ++i) say(LogStream::out, std::to_string(i) + "\n");
    EXPECT_THAT(last_lines(ending(end)), StartsWith("out 2\nout 3\n"));
    EXPECT_THAT(last_lines(ending(end)), testing::EndsWith("out 50\nout 51\n"));
}

TEST_F(EndedWorker, WhatTheOtherWorkerOfItsLaneSaysIsNotItsOwn) {
    const WorkerEnd end = exited(1);
    say(LogStream::err, "KeyError of the next\n", 8);
    say(LogStream::out, "GET /health\n", 7);
    log_.remark("started, pid 4711", 0);
    say(LogStream::err, "another KeyError of the next\n", 8);
    EXPECT_EQ(last_words(ending_of(7, end)), "");
    EXPECT_EQ(last_lines(ending_of(7, end)), "out GET /health\nturnpike started, pid 4711\n");
    EXPECT_EQ(all_trouble(ending_of(7, end)), "exit code 1: GET /health");
    EXPECT_EQ(all_trouble(ending_of(8, end)), "exit code 1: another KeyError of the next");
    EXPECT_EQ(last_words(ending_of(8, end)), "KeyError of the next | another KeyError of the next");
}

TEST_F(EndedWorker, ASilentWorkerIsNotBlamedForLinesOfTheOther) {
    const WorkerEnd end = exited(1);
    say(LogStream::out, "GET /health\n", 8);
    EXPECT_EQ(all_trouble(ending_of(7, end)), "exit code 1");
    EXPECT_EQ(all_trouble(ending_of(7, end, Reason::load_silent)),
              "no progress for 1min (load_timeout)");
    EXPECT_EQ(last_lines(ending_of(7, end)), "");
}

TEST_F(EndedWorker, AnUnfinishedLineBelongsToTheWorkerThatBeganIt) {
    const WorkerEnd end = exited(1);
    LogSource source{.stream = LogStream::out, .writer = 8};
    log_.take(source, "shard 3 of", 0);
    log_.remark("started, pid 4711", 0);
    EXPECT_EQ(all_trouble(ending_of(7, end)), "exit code 1");
    EXPECT_EQ(all_trouble(ending_of(8, end, Reason::load_silent)),
              "no progress for 1min (load_timeout): shard 3 of");
}

TEST_F(EndedWorker, OfItsOwnLinesTheLastFiftyAreKeptHoweverMuchTheOtherSays) {
    const WorkerEnd end = exited(1);
    for (int i = 1; i <= 51; ++i) {
        say(LogStream::out, std::to_string(i) + "\n", 7);
        say(LogStream::out, "noise\nnoise\n", 8);
    }
    EXPECT_THAT(last_lines(ending_of(7, end)), StartsWith("out 2\nout 3\n"));
    EXPECT_THAT(last_lines(ending_of(7, end)), testing::EndsWith("out 50\nout 51\n"));
}

TEST(ExitCodeAndSignal, AreNeverBothThere) {
    EXPECT_EQ(exit_code_of(exited(3)), 3);
    EXPECT_EQ(signal_of(exited(3)), std::nullopt);
    EXPECT_EQ(exit_code_of(killed(SIGKILL)), std::nullopt);
    EXPECT_EQ(signal_of(killed(SIGKILL)), SIGKILL);
    EXPECT_EQ(signal_of(ended({.code = CLD_DUMPED, .status = SIGSEGV})), SIGSEGV);
    EXPECT_EQ(exit_code_of({}), std::nullopt);
    EXPECT_EQ(signal_of({}), std::nullopt);
}

TEST(EndOfAWorker, IsRequestedIfSomebodyAskedForIt) {
    for (const Reason reason :
         {Reason::restart_asked, Reason::drain_asked, Reason::replaced, Reason::reload_abandoned,
          Reason::shutting_down, Reason::job_cancelled})
        EXPECT_TRUE(was_requested(reason)) << name_of(reason);
    for (const Reason reason : {Reason::none, Reason::exited, Reason::load_silent,
                                Reason::unhealthy, Reason::proof_failed, Reason::job_stuck,
                                Reason::gpu_lost, Reason::memory_held, Reason::disagrees})
        EXPECT_FALSE(was_requested(reason)) << name_of(reason);
}

TEST(InputOfAJob, IsItsNameItsRequestAndItsBody) {
    Wakeups wakeups;
    AnswerAccount answers(wakeups);
    Exchange exchange(wakeups, answers);
    exchange.method = "POST";
    exchange.target = "/predict?key=secret";
    exchange.fields =
        "Host: x\r\ncontent-type: text/plain\r\nX: Turnpike-Job: y\r\n"
        "Turnpike-Job: job-1\r\nContent-Length: 5\r\n";
    Disk disk;
    exchange.body.append(disk.store, "hello", [](int) {});
    const CrashInput whole = input_of(exchange, 5);
    EXPECT_EQ(whole.job, "job-1");
    EXPECT_EQ(whole.request, "POST /predict");  // a query may hold a secret
    EXPECT_EQ(whole.content_type, "text/plain");
    EXPECT_EQ(whole.body, "hello");
    EXPECT_FALSE(whole.is_cut);
    EXPECT_FALSE(whole.fetch_body);
    const CrashInput cut = input_of(exchange, 4);
    EXPECT_EQ(cut.body, "hell");
    EXPECT_TRUE(cut.is_cut);
}

TEST(InputOfAJob, WithoutFieldsOrBodyIsEmpty) {
    for (const char* fields : {"", "Turnpike-Job:\r\n", "Turnpike-Job\r\n", "\r\n"}) {
        Wakeups wakeups;
        AnswerAccount answers(wakeups);
        Exchange exchange(wakeups, answers);
        exchange.method = "GET";
        exchange.target = "/";
        exchange.fields = fields;
        const CrashInput input = input_of(exchange, 10);
        EXPECT_EQ(input.job + input.content_type + input.body, "") << fields;
        EXPECT_EQ(input.request, "GET /");
        EXPECT_FALSE(input.is_cut);
    }
}

TEST(InputOfAJob, ThatIsOnDiskIsFetchedAlsoWhenTheJobIsGone) {
    Disk disk;
    const std::string bytes = numbered(disk.store.memory_max + 50);
    CrashInput input;
    {
        Wakeups wakeups;
        AnswerAccount answers(wakeups);
        Exchange exchange(wakeups, answers);
        exchange.body.append(disk.store, bytes, [](int) {});
        disk.settle();
        exchange.body.complete(disk.store, [](int) {});
        disk.settle();
        ASSERT_FALSE(exchange.body.is_in_memory());
        input = input_of(exchange, bytes.size() - 1);
    }
    EXPECT_EQ(input.body, "");
    EXPECT_TRUE(input.is_cut);
    ASSERT_TRUE(input.fetch_body);
    EXPECT_EQ(input.fetch_body(), bytes.substr(0, bytes.size() - 1));
}

TEST(GpusOfAReport, AreNamedAndTheirMemoryIsAddedUp) {
    LaneFacts lane;
    lane.gpus.resize(2);
    lane.gpus[0].index = 1;
    lane.gpus[0].uuid = "GPU-a";
    lane.gpus[0].name = "H200";
    lane.gpus[1].uuid = "MIG-b";
    CrashReport report;
    add_gpus(report, lane);
    EXPECT_THAT(report.gpus, testing::ElementsAre("1 GPU-a H200", "MIG-b"));
    EXPECT_EQ(report.gpu_memory_used, std::nullopt);
    CrashReport measured;
    lane.gpus[0].memory_used = Bytes{3};
    lane.gpus[1].memory_used = Bytes{4};
    add_gpus(measured, lane);
    ASSERT_TRUE(measured.gpu_memory_used);
    EXPECT_EQ(measured.gpu_memory_used->count, 7U);
}

}  // namespace
}  // namespace turnpike
