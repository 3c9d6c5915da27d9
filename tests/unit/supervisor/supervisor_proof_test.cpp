// Proofs of HTTP workers, whose answers are judged against those of the other lanes of their
// generation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/supervisor.h"
#include "tests/unit/supervisor/supervisor_stand.h"

namespace turnpike {
namespace {

using testing::HasSubstr;

/// Three lanes of one pool of servers that must agree.
struct Stand : SupervisorStand {
    explicit Stand(ProofKind kind = ProofKind::agree) {
        settings.pools[1].settings.proof = kind;
        settings.pools[1].proof.compare = Compare::json;
        plan = {{.pool = 1}, {.pool = 1}, {.pool = 1}};
        lanes.resize(3);
        make();
        for (const std::uint64_t lane : {0U, 1U, 2U}) http(worker_in(lane), LaneId{lane});
    }
    /// The worker answers its proof. Returns how the proof ended.
    ProofEnded prove(WorkerId worker, std::string_view answer) {
        supervisor->carry_out(ProveWorker{.worker = worker, .proof = 5});
        EXPECT_EQ(dialer.waiting(), 1U);
        const auto peer = dialer.accept();
        const std::size_t before = proofs.size();
        peer->says = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(answer.size()) +
                     "\r\n\r\n" + std::string(answer);
        peer->run();
        wait([&] { return proofs.size() > before; });
        EXPECT_EQ(proofs.back().worker, worker);
        EXPECT_EQ(proofs.back().proof, 5U);
        return proofs.back();
    }
    ProofEnded prove(std::uint64_t lane, std::string_view answer) {
        return prove(worker_in(lane), answer);
    }
};

constexpr std::string_view seven = R"({"digit":7})";
constexpr std::string_view also_seven = R"({ "digit": 7 })";
constexpr std::string_view one = R"({"digit":1})";

TEST(HttpProofs, AreGroupedByTheirAnswers) {
    Stand stand;
    EXPECT_EQ(stand.prove(0, seven).verdict, ProofVerdict::grouped);
    EXPECT_EQ(stand.prove(1, one).group, 1U);
    EXPECT_EQ(stand.prove(2, also_seven).group, 0U) << "the same JSON";
    EXPECT_EQ(stand.proofs.at(0).group, 0U);
}

TEST(HttpProofs, ShowTheOddLaneItsDifferenceFromTheMajority) {
    Stand stand;
    stand.prove(0, seven);
    stand.prove(1, seven);
    stand.prove(2, one);
    const WorkerFacts& odd = stand.lanes[2].now;
    EXPECT_EQ(odd.trouble.cause, LaneCause::disagrees);
    EXPECT_EQ(odd.trouble.said, "it answers .digit = 1; lanes 0, 1 answer 7");
    EXPECT_EQ(odd.proof.by, ProofBy::agreement);
    EXPECT_FALSE(odd.proof.is_passed);
    for (const std::size_t lane : {0U, 1U}) {
        EXPECT_TRUE(stand.lanes[lane].now.trouble.is_none());
        EXPECT_TRUE(stand.lanes[lane].now.proof.is_passed);
    }
}

TEST(HttpProofs, FindOutThatTheFirstLaneWasTheOddOne) {
    Stand stand;
    stand.prove(0, one);
    EXPECT_TRUE(stand.lanes[0].now.trouble.is_none()) << "nobody else has answered yet";
    stand.prove(1, seven);
    EXPECT_TRUE(stand.lanes[0].now.trouble.is_none()) << "one against one is no majority";
    EXPECT_THAT(stand.lanes[1].now.proof.remark, HasSubstr("answers .digit = 7; lane 0 answers 1"));
    stand.prove(2, seven);
    EXPECT_EQ(stand.lanes[0].now.trouble.cause, LaneCause::disagrees);
    EXPECT_TRUE(stand.lanes[1].now.trouble.is_none());
    EXPECT_EQ(stand.lanes[1].now.proof.remark, "");
}

TEST(HttpProofs, CountOnlyTheLatestAnswerOfALane) {
    Stand stand;
    stand.prove(0, one);
    stand.prove(1, seven);
    stand.prove(2, seven);
    stand.prove(0, seven);
    EXPECT_TRUE(stand.lanes[0].now.proof.is_passed);
    EXPECT_EQ(stand.lanes[0].now.proof.remark, "");
}

TEST(HttpProofs, AllowTheTolerancesOfThePool) {
    Stand stand;
    stand.settings.pools[1].proof.tolerance_absolute = 0.01;
    EXPECT_EQ(stand.prove(0, R"({"p":0.500})").group, 0U);
    EXPECT_EQ(stand.prove(1, R"({"p":0.509})").group, 0U);
    EXPECT_EQ(stand.prove(2, R"({"p":0.511})").group, 1U) << "compared with the first of its group";
}

TEST(HttpProofs, AreNotJudgedAgainstThoseOfAnotherGeneration) {
    Stand stand;
    stand.prove(0, seven);
    stand.prove(1, seven);
    const WorkerId next = worker_in(3);
    stand.supervisor->carry_out(
        StartWorker{.worker = next, .lane = {2}, .generation = {2}, .is_next = true});
    stand.guards.last().runs();
    stand.wait([&] { return stand.dialer.waiting() > 0; });
    const auto peer = stand.dialer.accept();
    peer->says = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    peer->run();
    stand.wait([&] { return stand.told.back() == "WorkerReady 3"; });
    EXPECT_EQ(stand.prove(next, one).group, 0U) << "the first answer of the new code";
    EXPECT_TRUE(stand.lanes[2].next.trouble.is_none());
    EXPECT_EQ(stand.prove(2, one).group, 1U) << "the old worker of this lane is of the old code";
    EXPECT_EQ(stand.lanes[2].now.trouble.cause, LaneCause::disagrees);
    EXPECT_TRUE(stand.lanes[2].next.trouble.is_none());
}

TEST(HttpProofs, SayWhereAnAnswerDiffersFromTheKnownOne) {
    Stand stand(ProofKind::fixed);
    stand.settings.pools[1].proof.expected = seven;
    EXPECT_EQ(stand.prove(0, also_seven).verdict, ProofVerdict::passed);
    EXPECT_TRUE(stand.lanes[0].now.trouble.is_none());
    EXPECT_EQ(stand.prove(1, one).verdict, ProofVerdict::failed);
    EXPECT_EQ(stand.lanes[1].now.trouble.cause, LaneCause::wrong_answer);
    EXPECT_THAT(stand.lanes[1].now.trouble.said, HasSubstr(".digit: 1 here, 7 expected"));
}

TEST(HttpProofs, AreForgottenIfTheWorkerExitsWhileItsAnswerIsJudged) {
    Stand stand;
    stand.supervisor->carry_out(ProveWorker{.worker = worker_in(0), .proof = 5});
    const auto peer = stand.dialer.accept();
    peer->says = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n" + std::string(seven);
    peer->run();  // the background thread judges it now
    stand.end(*stand.guards.made[0], 1);
    stand.settle();
    EXPECT_TRUE(stand.proofs.empty());
    EXPECT_EQ(stand.lanes[0].now.proof.by, ProofBy::nobody);
}

}  // namespace
}  // namespace turnpike
