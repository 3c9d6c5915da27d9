#include "telemetry/lane_facts.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

constexpr WorkerId first{1};
constexpr WorkerId second{2};
constexpr WorkerId third{3};

StartWorker start_of(WorkerId worker) { return {.worker = worker}; }
StartWorker start_beside(WorkerId worker) { return {.worker = worker, .is_next = true}; }

TEST(LaneFacts, OfAStartKeepWhatIsKnownOfTheWorkerBefore) {
    LaneFacts lane;
    lane.begin(start_of(first)).pid = 4711;
    lane.now.trouble = {.cause = LaneCause::exited, .told = "exit code 1"};
    lane.now.last_exit = "exit code 1";
    lane.now.start.is_warm = true;
    lane.now.model_facts = "{}";
    lane.begin(start_of(second));
    EXPECT_EQ(lane.now.id, second);
    EXPECT_EQ(text_of(lane.now.trouble), "exit code 1");
    EXPECT_EQ(lane.now.last_exit, "exit code 1");
    EXPECT_EQ(lane.now.pid, 0);
    EXPECT_FALSE(lane.now.start.is_warm);
    EXPECT_EQ(lane.now.model_facts, "");
    EXPECT_EQ(lane.now.started_at, never);
}

TEST(LaneFacts, OfANextWorkerAreBesideThoseOfTheCurrentOne) {
    LaneFacts lane;
    lane.begin(start_of(first)).pid = 4711;
    lane.now.trouble = {.cause = LaneCause::no_answer, .told = "slow"};
    lane.begin(start_beside(second)).pid = 4712;
    EXPECT_EQ(lane.now.id, first);
    EXPECT_EQ(lane.now.pid, 4711);
    EXPECT_EQ(text_of(lane.next.trouble), "") << "the trouble is another worker's";
    lane.next.trouble = {.cause = LaneCause::exited, .told = "exit code 1"};
    lane.begin(start_beside(third));
    EXPECT_EQ(lane.next.id, third);
    EXPECT_EQ(text_of(lane.next.trouble), "") << "a new generation begins with nothing";
    EXPECT_EQ(text_of(lane.now.trouble), "slow");
}

TEST(LaneFacts, AreFoundByTheirWorker) {
    LaneFacts lane;
    lane.begin(start_of(first));
    lane.begin(start_beside(second));
    EXPECT_EQ(&lane.of(first), &lane.now);
    EXPECT_EQ(&lane.of(second), &lane.next);
    EXPECT_EQ(&lane.of(third), &lane.past)
        << "facts of an unknown worker must not change the others";
}

TEST(LaneFacts, OfTheNextWorkerAreTheCurrentOnesAfterTheSwitch) {
    LaneFacts lane;
    lane.proofs = 3;
    lane.begin(start_of(first)).pid = 4711;
    lane.begin(start_beside(second)).pid = 4712;
    lane.next.start.is_warm = true;
    lane.switch_over();
    EXPECT_EQ(lane.now.id, second);
    EXPECT_EQ(lane.now.pid, 4712);
    EXPECT_TRUE(lane.now.start.is_warm);
    EXPECT_TRUE(lane.next.id.is_none());
    EXPECT_EQ(lane.next.pid, 0);
    EXPECT_EQ(lane.proofs, 3U) << "it counts proofs of the lane, not of a worker";
    EXPECT_EQ(&lane.of(first), &lane.past) << "it still runs, and is ending";
    lane.of(first).last_exit = "killed by SIGTERM";
    EXPECT_EQ(lane.now.last_exit, "");
    lane.begin(start_beside(third)).pid = 4713;
    lane.switch_over();
    EXPECT_EQ(lane.past.id, second);
    EXPECT_EQ(&lane.of(first), &lane.past) << "it is long gone";
}

TEST(LaneTrouble, IsOneTextForAdmins) {
    EXPECT_EQ(text_of({.cause = LaneCause::exited, .told = "exit code 1", .said = "no torch"}),
              "exit code 1: no torch");
    EXPECT_EQ(text_of({.cause = LaneCause::exited, .told = "exit code 1"}), "exit code 1");
    EXPECT_EQ(text_of({.said = "no torch"}), "no torch");
    EXPECT_EQ(text_of(LaneTrouble{}), "");
    EXPECT_TRUE(LaneTrouble{}.is_none());
    EXPECT_FALSE(LaneTrouble{.cause = LaneCause::exited}.is_none()) << "the cause decides";
}

}  // namespace
}  // namespace turnpike
