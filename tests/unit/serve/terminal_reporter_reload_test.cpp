#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "serve/terminal_reporter.h"

namespace turnpike {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

PoolConfig pool_of(std::uint32_t lanes) {
    PoolConfig pool{.name = "chat"};
    pool.worker.model.kind = ModelChoice::Kind::python;
    pool.settings.lanes = lanes;
    return pool;
}

/// A reporter for a pool of two lanes that serve. Its stderr is not a terminal.
struct CapturedReporter {
    CapturedReporter() : reporter(config, lanes, clock) {
        reporter.follow_reloads(pools);
        for (const std::uint64_t lane : {0U, 1U}) report(lane, LaneState::ready);
        said();
    }
    void report(std::uint64_t lane, LaneState state) {
        reporter.tell(ReportLane{.lane = LaneId{lane}, .state = state, .reason = Reason::none});
    }
    std::string said() {
        testing::internal::CaptureStderr();
        reporter.report_changes({});
        return testing::internal::GetCapturedStderr();
    }
    void begin(Generation generation) {
        pools[0].reload = {.generation = generation,
                           .kind = ReloadKind::beside,
                           .order = {.files = {"/a/model.py"}},
                           .began = clock.now(),
                           .trouble = {}};
    }
    void end(ReloadEnd how, const std::string& trouble = {}) {
        pools[0].reload->ended = pools[0].reload->began + 900ms;
        pools[0].reload->end = how;
        pools[0].reload->trouble = trouble;
    }

    Config config{.pools = {pool_of(2)}};
    std::vector<LaneFacts> lanes{2};
    std::vector<PoolFacts> pools{1};
    Clock clock;
    TerminalReporter reporter;
};

TEST(ReloadReports, TellWhyOneBeginsAndHowLongItTook) {
    CapturedReporter captured;
    captured.begin({4});
    EXPECT_EQ(captured.said(),
              "turnpike: pool chat: reload 4 (model.py changed), beside the old code\n");
    EXPECT_THAT(captured.said(), IsEmpty()) << "told once";
    captured.lanes[1].now.start = {.import = 40ms, .load = 200ms};
    captured.lanes[0].now.started_at = captured.lanes[1].now.started_at = captured.clock.now();
    EXPECT_THAT(captured.said(), IsEmpty()) << "what the lanes go through is a part of it";
    captured.end(ReloadEnd::spread);
    EXPECT_EQ(captured.said(),
              "turnpike: pool chat: reload 4: lanes 0-1 on the new code after 900 ms (import 40 ms "
              "+ load 200 ms)\n");
    EXPECT_THAT(captured.said(), IsEmpty());
}

TEST(ReloadReports, ShowTheErrorInFullAndWhatToDo) {
    CapturedReporter captured;
    captured.begin({4});
    captured.end(ReloadEnd::abandoned, "Traceback\n  File\nOops: \x1b[31mx");
    EXPECT_THAT(captured.said(), HasSubstr("turnpike: pool chat: reload 4 failed after 900 ms:\n"
                                           "    Traceback\n      File\n    Oops: ?[31mx\n"
                                           "turnpike: the old code keeps serving: fix it, then: "
                                           "turnpike reload\n"));
    EXPECT_THAT(captured.said(), IsEmpty());
}

TEST(ReloadReports, SayToSaveAgainWhereSavesAreWatched) {
    CapturedReporter captured;
    captured.config.pools[0].worker.watch = true;
    captured.begin({4});
    captured.end(ReloadEnd::abandoned, "Oops");
    EXPECT_THAT(captured.said(), HasSubstr("fix the file and save again"));
}

TEST(ReloadReports, DoNotClaimThatTheOldCodeServesWhenNoneDoes) {
    CapturedReporter captured;
    for (const std::uint64_t lane : {0U, 1U}) captured.report(lane, LaneState::failed);
    captured.begin({4});
    captured.end(ReloadEnd::abandoned, "Oops");
    EXPECT_THAT(captured.said(), HasSubstr("no lane serves: fix it"));
}

TEST(ReloadReports, NameOnlyLanesThatServeAndGiveAFailedLaneItsOwnLine) {
    CapturedReporter captured;
    captured.begin({4});
    captured.said();
    captured.report(1, LaneState::failed);
    captured.end(ReloadEnd::spread);
    const std::string said = captured.said();
    EXPECT_THAT(said, HasSubstr("reload 4: lane 0 on the new code"));
    EXPECT_THAT(said + captured.said(), HasSubstr("lane 1 has failed"));
}

}  // namespace
}  // namespace turnpike
