#include "serve/terminal_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace turnpike {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Lt;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

/// A reporter for two lanes. Its stderr is not a terminal.
struct CapturedReporter {
    CapturedReporter() : reporter(config, lanes, clock) {}

    void report(std::uint64_t lane, LaneState state, Reason reason = Reason::none) {
        reporter.tell(ReportLane{.lane = LaneId{lane}, .state = state, .reason = reason});
    }
    /// Returns what report_changes() prints.
    std::string said() {
        testing::internal::CaptureStderr();
        reporter.report_changes({});
        return testing::internal::GetCapturedStderr();
    }
    /// Returns what report_changes() prints about a death. The death may become known after the
    /// lane is up again.
    std::string said_of(const TerminalReporter::Crash& crash) {
        reporter.tell(crash);
        return said();
    }

    Config config{.pools = {PoolConfig{.name = "only"}}};
    std::vector<LaneFacts> lanes{LaneFacts{.worker = "python3 a.py"},
                                 LaneFacts{.worker = "python3 b.py"}};
    Clock clock;
    TerminalReporter reporter;
};

TEST(TerminalReporter, TellsOnceForEachStartHowLongItTook) {
    CapturedReporter captured;
    captured.lanes[0].gpus = {{.index = 3}};
    captured.lanes[0].now.started_at = captured.clock.now() - 1500ms;
    captured.report(0, LaneState::ready);
    EXPECT_EQ(captured.said(), "turnpike: lane 0 serves on GPU 3 after 1.5 s\n");
    EXPECT_THAT(captured.said(), IsEmpty());
    captured.report(0, LaneState::backoff, Reason::link_doubted);
    EXPECT_THAT(captured.said(), HasSubstr("lane 0 is out of the pool"));
    captured.report(0, LaneState::busy);
    EXPECT_EQ(captured.said(), "turnpike: lane 0 serves, python3 a.py\n")
        << "it did not start again";
    captured.report(0, LaneState::starting);
    EXPECT_THAT(captured.said(), HasSubstr("lane 0 comes up"));
    captured.lanes[0].now.started_at = captured.clock.now() - 500ms;
    captured.report(0, LaneState::ready);
    EXPECT_EQ(captured.said(), "turnpike: lane 0 serves on GPU 3 after 500 ms\n");
}

TEST(TerminalReporter, TellsOfADeathEvenIfTheLaneServesAgainBeforeTheNextReport) {
    CapturedReporter captured;
    captured.lanes[0].worker = "";  // we start this worker ourselves
    captured.lanes[0].now.started_at = captured.clock.now() - 1500ms;
    captured.report(0, LaneState::ready);
    EXPECT_THAT(captured.said(), HasSubstr("lane 0 serves"));
    captured.report(0, LaneState::backoff, Reason::exited);
    EXPECT_EQ(
        captured.said_of({.lane = 0, .trouble = "killed by \x1b[31mSIGKILL", .report = "id-1"}),
        "turnpike: lane 0: its worker died: killed by ?[31mSIGKILL; more: turnpike crashes "
        "id-1\n");
    captured.lanes[0].now.started_at = captured.clock.now() - 100ms;
    captured.report(0, LaneState::busy);
    EXPECT_EQ(captured.said(), "turnpike: lane 0 serves after 100 ms\n");
    EXPECT_THAT(captured.said(), IsEmpty());
}

TEST(TerminalReporter, TellsOfADeathInOneLine) {
    CapturedReporter captured;
    captured.lanes[0] = {.worker = "", .now = {}};
    captured.report(0, LaneState::ready);
    EXPECT_THAT(captured.said(), HasSubstr("lane 0 serves"));
    for (const Reason reason : {Reason::exited, Reason::not_answering, Reason::load_silent}) {
        captured.lanes[0].now.trouble.told = "no torch for " + std::string(name_of(reason));
        captured.report(0, LaneState::backoff, reason);
        EXPECT_THAT(captured.said(), IsEmpty()) << "before its report is stored";
        EXPECT_THAT(
            captured.said_of(
                {.lane = 0, .trouble = text_of(captured.lanes[0].now.trouble), .report = "id"}),
            HasSubstr("lane 0: its worker died"));
        EXPECT_THAT(captured.said(), IsEmpty());
        captured.report(0, LaneState::starting);
        EXPECT_THAT(captured.said(), IsEmpty());
    }
}

TEST(TerminalReporter, TellsOnceOfDeathsThatAreAlike) {
    CapturedReporter captured;
    captured.lanes[0].worker = "";
    const TerminalReporter::Crash crash{.lane = 0, .trouble = "exit code 1", .report = "id"};
    const std::string first =
        "turnpike: lane 0: its worker died: exit code 1; more: turnpike crashes id\n";
    EXPECT_EQ(captured.said_of(crash), first);
    EXPECT_THAT(captured.said_of(crash), IsEmpty());
    EXPECT_THAT(captured.said_of({.lane = 0, .trouble = "exit code 2", .report = ""}),
                HasSubstr("died: exit code 2"));
    EXPECT_EQ(captured.said_of(crash), first);
    captured.report(0, LaneState::ready);
    EXPECT_THAT(captured.said_of(crash), StartsWith(first)) << "it served in between";
}

TEST(TerminalReporter, TellsOnceThatALaneHasFailedAndWhatToDo) {
    CapturedReporter captured;
    captured.lanes[0] = {.worker = "",
                         .now = {.trouble = {.cause = LaneCause::exited, .told = "exit code 1"}}};
    captured.report(0, LaneState::failed, Reason::crashed_too_often);
    const std::string line =
        "turnpike: lane 0 has failed: it crashed too often; see: turnpike logs 0; then: turnpike "
        "restart 0\n";
    EXPECT_EQ(captured.said(), line);
    captured.lanes[0].now.trouble = {.cause = LaneCause::exited,
                                     .told = "exit code 1: its last line, which came later"};
    EXPECT_THAT(captured.said(), IsEmpty());
    EXPECT_THAT(captured.said_of(
                    {.lane = 0, .trouble = text_of(captured.lanes[0].now.trouble), .report = ""}),
                HasSubstr("which came later"));
    EXPECT_THAT(captured.said(), IsEmpty());
}

TEST(TerminalReporter, TellsWhenAFailedLaneTriesAgain) {
    CapturedReporter captured;
    captured.lanes[0].worker = "";
    for (int tries = 0; tries < 2; ++tries) {
        captured.reporter.tell(ReportLane{.lane = LaneId{0},
                                          .state = LaneState::failed,
                                          .reason = Reason::crashed_too_often,
                                          .next_try = 5h});
        EXPECT_THAT(
            captured.said(),
            ContainsRegex("lane 0 has failed: it crashed too often, next try in [45] h [0-9]+ "
                          "min; see: turnpike logs 0; then: turnpike restart 0\n"));
        EXPECT_THAT(captured.said(), IsEmpty());
        captured.report(0, LaneState::failed, Reason::trying_again);
        EXPECT_THAT(captured.said(), HasSubstr("lane 0 has failed: it crashed too often, and tries "
                                               "to start again now;"));
    }
}

TEST(TerminalReporter, TellsOfTroubleAtNoGreatLength) {
    CapturedReporter captured;
    const std::string said =
        captured.said_of({.lane = 0, .trouble = std::string(5000, 'x'), .report = "id"});
    EXPECT_THAT(said, AllOf(SizeIs(Lt(400)), HasSubstr("x...; more: turnpike crashes id\n")));
}

TEST(TerminalReporter, TellsWhyTheGateEndedAWorkerThatGaveNoReason) {
    CapturedReporter captured;
    captured.lanes[0].worker = "";
    captured.report(0, LaneState::backoff, Reason::gpu_lost);
    EXPECT_EQ(captured.said_of({.lane = 0, .trouble = "", .report = ""}),
              "turnpike: lane 0: its worker died: its GPU is gone\n");
}

TEST(TerminalReporter, StillTellsOfALaneThatRestsWithoutADeath) {
    CapturedReporter captured;
    captured.lanes[0].worker = "";
    captured.report(0, LaneState::backoff, Reason::failing_jobs);
    EXPECT_EQ(captured.said(), "turnpike: lane 0 is out of the pool: job after job failed on it\n");
}

TEST(TerminalReporter, TellsOnceWhatSomebodyShouldChange) {
    CapturedReporter captured;
    captured.lanes[0].remark = captured.lanes[1].remark = "its worker listens on every address";
    EXPECT_EQ(captured.said(), "turnpike: lane 0: its worker listens on every address\n");
    EXPECT_THAT(captured.said(), IsEmpty());
}

TEST(TerminalReporter, TellsNowAndThenHowLoadingGoes) {
    CapturedReporter captured;
    captured.lanes[0].now.started_at = captured.clock.now() - 9s;
    captured.lanes[0].now.last_line = "Loading weights";
    captured.report(0, LaneState::loading);
    EXPECT_THAT(captured.said(), IsEmpty());
    captured.lanes[0].now.started_at = captured.clock.now() - 20s;
    EXPECT_EQ(captured.said(), "turnpike: lane 0 loading for 20 s: Loading weights\n");
    EXPECT_THAT(captured.said(), IsEmpty()) << "not again so soon";
}

TEST(TerminalReporter, TellsNothingOfTheWaitForAnAttachedWorkerButItsBeginning) {
    CapturedReporter captured;
    captured.lanes[0].now.trouble = {.cause = LaneCause::refused, .told = "connection refused"};
    captured.report(0, LaneState::backoff, Reason::worker_away);
    EXPECT_THAT(captured.said(), HasSubstr("lane 0 waits for its worker"));
    EXPECT_THAT(captured.said(), IsEmpty());
}

TEST(TerminalReporter, TellsWhenTheLanesAreUpAndWhatToDo) {
    CapturedReporter captured;
    captured.report(0, LaneState::ready);
    EXPECT_THAT(captured.said(), Not(HasSubstr("lanes serve")));
    captured.report(1, LaneState::ready);
    EXPECT_THAT(captured.said(), EndsWith("turnpike: all lanes serve\n"
                                          "turnpike: send jobs to , e.g. POST /predict\n"));
    EXPECT_THAT(captured.said(), IsEmpty());
}

/// Returns everything that is printed when the second of two lanes comes up.
std::string said_when_up(CapturedReporter& captured) {
    testing::internal::CaptureStderr();
    captured.reporter.opened({"127.0.0.1", 8000}, false);
    testing::internal::GetCapturedStderr();
    for (const std::uint64_t lane : {0U, 1U}) captured.report(lane, LaneState::ready);
    return captured.said();
}

TEST(TerminalReporter, SuggestsARequestThatIsKnownToWork) {
    CapturedReporter captured;
    PoolConfig& pool = captured.config.pools[0];
    pool.settings.proof = ProofKind::fixed;
    pool.proof.body = R"({"x": 1})";
    EXPECT_THAT(said_when_up(captured),
                EndsWith("turnpike: try: curl 'http://127.0.0.1:8000/predict' "
                         "-d '{\"x\": 1}' -H Content-Type:application/json\n"));
}

TEST(TerminalReporter, SuggestsNoRequestThatFillsTheScreenOrNeedsQuotes) {
    for (const std::string& body :
         {std::string(100, 'x'), std::string("it's"), std::string("a\nb")}) {
        CapturedReporter captured;
        captured.config.pools[0].settings.proof = ProofKind::fixed;
        captured.config.pools[0].proof.body = body;
        EXPECT_THAT(said_when_up(captured),
                    EndsWith("turnpike: send jobs to http://127.0.0.1:8000, e.g. POST /predict\n"));
    }
}

TEST(TerminalReporter, NamesTheGateInItsAdvice) {
    CapturedReporter captured;
    TerminalReporter reporter(captured.config, captured.lanes, captured.clock, "blue");
    testing::internal::CaptureStderr();
    reporter.tell(TerminalReporter::Crash{.lane = 0, .trouble = "", .report = "id"});
    reporter.report_changes({});
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                HasSubstr("more: turnpike crashes id --name blue\n"));
}

TEST(TerminalReporter, TellsHowManyLanesServeWhenSomeWillNot) {
    CapturedReporter captured;
    captured.lanes[1].now.trouble = {.cause = LaneCause::exited, .told = "exit code 1"};
    captured.report(0, LaneState::ready);
    captured.report(1, LaneState::failed, Reason::crashed_too_often);
    EXPECT_THAT(captured.said(), AllOf(HasSubstr("lane 1 has failed, python3 b.py: exit code 1"),
                                       HasSubstr("turnpike: 1 of 2 lanes serve\n")));
    EXPECT_THAT(captured.said(), IsEmpty());
    captured.report(1, LaneState::ready);
    EXPECT_THAT(captured.said(), HasSubstr("all lanes serve"));
}

TEST(TerminalReporter, TellsOfADeathOfAllLanesInOneLine) {
    CapturedReporter captured;
    for (LaneFacts& lane : captured.lanes)
        lane = {.worker = "",
                .now = {.trouble = {.cause = LaneCause::exited, .told = "exit code 1"}}};
    const auto both_die = [&captured] {
        captured.reporter.tell(
            TerminalReporter::Crash{.lane = 0, .trouble = "exit code 1", .report = "id-0"});
        captured.reporter.tell(
            TerminalReporter::Crash{.lane = 1, .trouble = "exit code 1", .report = "id-1"});
        return captured.said();
    };
    EXPECT_EQ(
        both_die(),
        "turnpike: lanes 0-1: their workers died: exit code 1; more: turnpike crashes id-0\n");
    EXPECT_THAT(both_die(), IsEmpty()) << "as before";
}

TEST(TerminalReporter, TellsOnceThatNoLaneServesAndWhatToDo) {
    CapturedReporter captured;
    for (LaneFacts& lane : captured.lanes)
        lane = {.worker = "",
                .now = {.trouble = {.cause = LaneCause::exited, .told = "exit code 1"}}};
    const auto fail = [&captured](std::uint64_t lane) {
        captured.reporter.tell(
            TerminalReporter::Crash{.lane = lane, .trouble = "exit code 1", .report = "id"});
        captured.report(lane, LaneState::failed, Reason::crashed_too_often);
        return captured.said();
    };
    const std::string none =
        "turnpike: no lane serves: exit code 1; when that is fixed: turnpike restart all\n";
    EXPECT_THAT(fail(0), Not(HasSubstr("no lane serves")));
    EXPECT_EQ(fail(1),
              "turnpike: lane 1: its worker died like that of lane 0; more: turnpike crashes id\n"
              "turnpike: lane 1 has failed: it crashed too often\n" +
                  none)
        << "what to do is said for all";
    EXPECT_THAT(captured.said(), IsEmpty());
    captured.report(0, LaneState::starting);
    EXPECT_THAT(captured.said(), Not(HasSubstr("no lane serves"))) << "somebody restarts it";
    EXPECT_THAT(fail(0), EndsWith(none));
}

TEST(TerminalReporter, TellsOnceThatAModelIsImportedForLong) {
    CapturedReporter captured;
    for (LaneFacts& lane : captured.lanes) {
        lane.worker = "";
        lane.now.started_at = captured.clock.now() - 16s;
        lane.now.loading = LoadNews{};
        lane.now.start.import = 2s;
    }
    captured.report(0, LaneState::loading);
    EXPECT_THAT(captured.said(), Not(HasSubstr("imports"))) << "it is imported, and loads";
    captured.lanes[1].now.start.import.reset();
    captured.report(1, LaneState::loading);
    EXPECT_THAT(captured.said(),
                HasSubstr("turnpike: lane 1 still imports its model after 15 s; what it does: "
                          "turnpike stacks 1; what it prints: turnpike logs 1\n"));
    EXPECT_THAT(captured.said(), Not(HasSubstr("imports")));
}

TEST(TerminalReporter, TellsThatNoLaneServesAlsoIfEachHasItsOwnReason) {
    CapturedReporter captured;
    captured.report(0, LaneState::quarantined, Reason::disagrees);
    captured.report(1, LaneState::failed, Reason::crashed_too_often);
    EXPECT_THAT(captured.said(),
                EndsWith("turnpike: no lane serves; when that is fixed: turnpike restart all\n"));
}

TEST(TerminalReporter, TellsThatAModelIsMendedByAReload) {
    const auto said = [](LaneState state, Reason reason) {
        CapturedReporter captured;
        captured.config.pools[0].worker.model.kind = ModelChoice::Kind::python;
        for (const std::uint64_t lane : {0U, 1U}) captured.report(lane, state, reason);
        return captured.said();
    };
    EXPECT_THAT(said(LaneState::failed, Reason::crashed_too_often),
                EndsWith("no lane serves; when that is fixed: turnpike reload\n"));
    EXPECT_THAT(said(LaneState::quarantined, Reason::gpu_lost),
                EndsWith("no lane serves; when that is fixed: turnpike restart all\n"));
}

TEST(TerminalReporter, TellsUsersOfWatchToSaveUnlessThatRevivesNoLane) {
    const auto said = [](LaneState state, Reason reason) {
        CapturedReporter captured;
        captured.config.pools[0].worker.watch = true;
        for (const std::uint64_t lane : {0U, 1U}) captured.report(lane, state, reason);
        return captured.said();
    };
    const auto save = EndsWith("no lane serves; fix the file and save it\n");
    EXPECT_THAT(said(LaneState::failed, Reason::crashed_too_often), save);
    EXPECT_THAT(said(LaneState::quarantined, Reason::proof_failed), save);
    EXPECT_THAT(said(LaneState::quarantined, Reason::gpu_lost),
                EndsWith("no lane serves; when that is fixed: turnpike restart all\n"));
}

TEST(TerminalReporter, TellsThatAModelServesUnprovedAlsoIfSomeLanesDoNot) {
    CapturedReporter captured;
    captured.config.pools[0].worker.model.kind = ModelChoice::Kind::python;
    captured.config.pools[0].settings.lanes = 2;
    captured.report(0, LaneState::ready);
    captured.report(1, LaneState::failed, Reason::crashed_too_often);
    EXPECT_THAT(captured.said(),
                HasSubstr("1 of 2 lanes serve\nturnpike: pool only: the model has no "
                          "example and no proof is configured"));
    captured.report(1, LaneState::ready);
    EXPECT_THAT(captured.said(), AllOf(HasSubstr("all lanes serve"), Not(HasSubstr("unproved"))));
}

TEST(TerminalReporter, TellsThatAModelServesUnprovedWhenItIsKnown) {
    const std::string unproved =
        "pool only: the model has no example and no proof is configured, so lanes serve unproved; "
        "to add one: example = ... in the model, or [pool.only.proof]\n";
    const auto said = [](std::optional<Duration> proof, ModelChoice::Kind kind) {
        CapturedReporter captured;
        captured.config.pools[0].worker.model.kind = kind;
        captured.config.pools[0].settings.lanes = 2;
        captured.lanes[1].now.start.proof = proof;
        return said_when_up(captured);
    };
    EXPECT_THAT(said({}, ModelChoice::Kind::python),
                HasSubstr("all lanes serve\nturnpike: " + unproved));
    EXPECT_THAT(said(5ms, ModelChoice::Kind::python), Not(HasSubstr("unproved")));
    EXPECT_THAT(said({}, ModelChoice::Kind::none), Not(HasSubstr(unproved)));
}

TEST(TerminalReporter, HintsAtNoExampleAndNoPathOfAnApp) {
    CapturedReporter captured;
    captured.config.pools[0].worker.model.kind = ModelChoice::Kind::python;
    captured.config.pools[0].settings.lanes = 2;
    captured.lanes[1].now.model_facts = R"({"asgi": "FastAPI"})";
    EXPECT_THAT(
        said_when_up(captured),
        EndsWith("turnpike: pool only: no proof is configured, so lanes serve unproved; "
                 "to add one: [pool.only.proof]\n"
                 "turnpike: send jobs to http://127.0.0.1:8000, with the paths of the app\n"));
}

TEST(TerminalReporter, DrawsNothingWhereThereIsNoTerminal) {
    CapturedReporter captured;
    captured.report(0, LaneState::loading);
    captured.report(1, LaneState::ready);
    EXPECT_THAT(captured.said(), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace turnpike
