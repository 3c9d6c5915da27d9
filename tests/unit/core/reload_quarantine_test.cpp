// Reloads of pools with lanes that gave wrong answers (reload.cpp, restart.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/reload.h"
#include "tests/unit/core/fixtures.h"
#include "tests/unit/core/gate.h"

namespace turnpike {
namespace {

using test::Gate;
using test::proving;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

/// Lets a worker of the lane load and give a wrong answer to its proof.
void answers_wrong(Gate& gate, WorkerId worker) {
    gate.tell(WorkerStarted{worker}), gate.tell(WorkerReady{worker});
    gate.fails_proof(worker);
}

void quarantine(Gate& gate, std::uint64_t lane) {
    for (int wrong = 0; wrong < 2; ++wrong) {
        ASSERT_EQ(gate.state(lane), LaneState::starting);
        answers_wrong(gate, gate.current(lane));
        gate.dies(lane);
        gate.pass(1s);
    }
    ASSERT_EQ(gate.state(lane), LaneState::quarantined);
    ASSERT_EQ(gate.reason(lane), Reason::proof_failed);
}

/// Lane 0 serves; lane 1 is quarantined for wrong answers.
struct Quarantined {
    Quarantined() : gate(proving(2)) {
        gate.tell(GateOpened{});
        gate.comes_up(0);
        quarantine(gate, 1);
    }
    Gate gate;
};

// ── revived ──────────────────────────────────────────────────────────────────────────────────────

TEST(ReloadQuarantine, TriesTheNewCodeOnALaneThatGaveWrongAnswers) {
    Quarantined scene;
    Gate& gate = scene.gate;
    gate.reload(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w3 on 0 with g2", "start w4 on 1 with g2"));
    gate.comes_up(gate.other(1));
    EXPECT_EQ(gate.state(1), LaneState::ready);
    EXPECT_EQ(gate.pool().good, Generation{2});
    gate.comes_up(gate.other(0));
    gate.dies(gate.other(0));
    EXPECT_THAT(gate.deeds(), Contains("reload g2 spread"));
    EXPECT_EQ(gate.state(1), LaneState::ready);
}

TEST(ReloadQuarantine, RevivesALaneInPlaceOnceTheCodeIsGood) {
    Quarantined scene;
    Gate& gate = scene.gate;
    gate.reload_in_place(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("stop w0 replaced")) << "a lane that is on goes first";
    gate.dies(0);
    EXPECT_EQ(gate.state(1), LaneState::quarantined);
    gate.comes_up(0);
    EXPECT_THAT(gate.deeds(), Contains("start w4 on 1 with g2"));
    gate.comes_up(1);
    EXPECT_EQ(gate.state(1), LaneState::ready);
}

TEST(ReloadQuarantine, ForgetsTheWrongAnswersOfTheOldCode) {
    Quarantined scene;
    Gate& gate = scene.gate;
    gate.reload(2);
    gate.comes_up(gate.other(1)), gate.comes_up(gate.other(0));
    gate.dies(gate.other(0));
    ASSERT_TRUE(gate.pool().reloading.is_none());
    test::prove_all(gate);
    gate.passes_proof(gate.current(0));
    gate.fails_proof(gate.current(1));
    EXPECT_EQ(gate.state(1), LaneState::backoff) << "its first with this code";
}

// ── quarantined again ────────────────────────────────────────────────────────────────────────────

TEST(ReloadQuarantine, QuarantinesTheLaneAgainWhenTheCodeIsWrong) {
    Quarantined scene;
    Gate& gate = scene.gate;
    gate.reload(2);
    answers_wrong(gate, gate.other(1));
    EXPECT_THAT(gate.deeds(), Contains("reload g2 abandoned"));
    EXPECT_EQ(gate.state(1), LaneState::quarantined);
    EXPECT_EQ(gate.reason(1), Reason::proof_failed);
    gate.dies(gate.other(0)), gate.dies(gate.other(1));
    gate.pass(9min);
    EXPECT_THAT(gate.acts<StartWorker>(),
                Not(Contains(testing::Field(&StartWorker::lane, LaneId{1}))));
    EXPECT_EQ(gate.state(0), LaneState::ready);
}

TEST(ReloadQuarantine, QuarantinesTheLaneAgainWhenTheCodeDoesNotLoad) {
    Quarantined scene;
    Gate& gate = scene.gate;
    gate.reload(2);
    gate.dies(gate.other(1));
    EXPECT_EQ(gate.pool().reloading, Generation{2}) << "lane 0 may still load it";
    gate.dies(gate.other(0));
    EXPECT_THAT(gate.deeds(), Contains("reload g2 abandoned"));
    EXPECT_EQ(gate.state(1), LaneState::quarantined);
    EXPECT_EQ(gate.reason(1), Reason::proof_failed);
}

TEST(ReloadQuarantine, QuarantinesTheOnlyLaneAgainWhenItsTrialInPlaceFails) {
    Gate gate(proving(1));
    gate.tell(GateOpened{});
    quarantine(gate, 0);
    gate.reload_in_place(2);
    EXPECT_THAT(gate.deeds(), ElementsAre("start w2 on 0 with g2"));
    answers_wrong(gate, gate.current(0));
    EXPECT_THAT(gate.deeds(), Contains("reload g2 abandoned"));
    EXPECT_EQ(gate.state(0), LaneState::quarantined);
    EXPECT_EQ(gate.reason(0), Reason::proof_failed);
    gate.dies(0);
    gate.pass(9min);
    EXPECT_TRUE(gate.current(0).is_none());
}

TEST(ReloadQuarantine, LeavesTheLaneOnIfAPersonRestartsItDuringItsTrial) {
    Gate gate(proving(1));
    gate.tell(GateOpened{});
    quarantine(gate, 0);
    gate.reload_in_place(2);
    gate.tell(RestartAsked{LaneId{0}});
    EXPECT_THAT(gate.deeds(), Contains("reload g2 abandoned"));
    gate.dies(0);
    EXPECT_NE(gate.state(0), LaneState::quarantined);
    EXPECT_EQ(gate.lane(0).generation, Generation{1});
}

TEST(ReloadQuarantine, QuarantinesTheLaneAgainForTheSameReason) {
    Gate gate(proving(3, ProofKind::agree));
    gate.tell(GateOpened{});
    const auto votes = [&](WorkerId worker, std::uint32_t group) {
        gate.tell(WorkerStarted{worker}), gate.tell(WorkerReady{worker});
        gate.votes(worker, group);
    };
    votes(gate.current(0), 1), votes(gate.current(1), 1);
    for (int i = 0; i < 2; ++i) {
        votes(gate.current(2), 2);
        gate.dies(2);
        gate.pass(1s);
    }
    ASSERT_EQ(gate.state(2), LaneState::quarantined);
    ASSERT_EQ(gate.reason(2), Reason::disagrees);
    gate.reload(2);
    for (const std::uint64_t lane : {0, 1, 2}) gate.dies(gate.other(lane));
    EXPECT_EQ(gate.state(2), LaneState::quarantined);
    EXPECT_EQ(gate.reason(2), Reason::disagrees);
}

TEST(ReloadQuarantine, QuarantinesTheLaneAgainWhenNewerCodeComesAndItIsWrongToo) {
    Quarantined scene;
    Gate& gate = scene.gate;
    gate.reload(2);
    gate.reload(3);
    EXPECT_THAT(gate.deeds(), Contains("reload g2 superseded"));
    gate.dies(gate.other(0)), gate.dies(gate.other(1));
    ASSERT_FALSE(gate.other(1).is_none());
    answers_wrong(gate, gate.other(1));
    EXPECT_EQ(gate.state(1), LaneState::quarantined);
    EXPECT_EQ(gate.reason(1), Reason::proof_failed);
}

// ── wrong answers meanwhile ──────────────────────────────────────────────────────────────────────

/// The only lane gave one wrong answer; its next worker is being judged.
struct BeingJudged {
    BeingJudged() : gate(proving(1)) {
        gate.tell(GateOpened{});
        answers_wrong(gate, gate.current(0));
        gate.dies(0);
        gate.pass(1s);
        gate.tell(WorkerStarted{gate.current(0)}), gate.tell(WorkerReady{gate.current(0)});
        EXPECT_EQ(gate.state(0), LaneState::proving);
    }
    Gate gate;
};

TEST(ReloadQuarantine, DoesNotQuarantineTheLaneMeanwhile) {
    BeingJudged scene;
    Gate& gate = scene.gate;
    const JobId job = gate.queue_job();
    gate.reload(2);
    gate.fails_proof(gate.current(0));
    EXPECT_EQ(gate.state(0), LaneState::backoff);
    EXPECT_TRUE(gate.is_queued(job)) << "there is hope";
}

TEST(ReloadQuarantine, MendsTheLastLaneWhileItIsBeingJudged) {
    BeingJudged scene;
    Gate& gate = scene.gate;
    const JobId job = gate.queue_job();
    gate.reload(2);
    gate.fails_proof(gate.current(0));
    gate.dies(0);
    gate.comes_up(gate.other(0));
    EXPECT_EQ(gate.lane(0).generation, Generation{2});
    EXPECT_TRUE(gate.is_running(job));
}

TEST(ReloadQuarantine, MendsTheLastLaneInPlaceWhileItIsBeingJudged) {
    BeingJudged scene;
    Gate& gate = scene.gate;
    const JobId job = gate.queue_job();
    const WorkerId judged = gate.current(0);
    gate.reload_in_place(2);
    gate.fails_proof(judged);
    gate.dies(judged);
    gate.comes_up(0);
    EXPECT_EQ(gate.lane(0).generation, Generation{2});
    EXPECT_TRUE(gate.is_running(job));
}

TEST(ReloadQuarantine, QuarantinesTheLaneWithItsNextWrongAnswerAfterTheReloadIsAbandoned) {
    BeingJudged scene;
    Gate& gate = scene.gate;
    gate.reload(2);
    gate.fails_proof(gate.current(0));
    gate.dies(gate.current(0));
    gate.dies(gate.other(0));
    ASSERT_TRUE(gate.pool().reloading.is_none());
    gate.pass(1s);
    answers_wrong(gate, gate.current(0));
    EXPECT_EQ(gate.state(0), LaneState::quarantined);
    EXPECT_EQ(gate.reason(0), Reason::proof_failed);
}

}  // namespace
}  // namespace turnpike
