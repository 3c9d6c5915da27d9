#include "cli/prove.h"

#include <gtest/gtest.h>

#include <string>

namespace turnpike {
namespace {

ProvedLane lane(std::size_t number, const std::string& answer, std::uint64_t count = 1) {
    ProvedLane lane{.lane = number, .state = "ready", .serves = true, .count = count, .proof = {}};
    lane.proof.by = ProofBy::example;
    lane.proof.is_passed = true;
    lane.proof.file = "/m/model.proof.json";
    lane.proof.request = {
        .method = "POST", .path = "/predict", .body = proof_body("application/json", "[1]")};
    lane.proof.answer = {.status = 200, .body = proof_body("application/json", answer)};
    return lane;
}

ProvedPool pool(std::vector<ProvedLane> lanes) {
    return {.pool = "default", .model = "model.py", .has_proof = true, .lanes = std::move(lanes)};
}

FoundRecording nothing() { return std::nullopt; }

FoundRecording found(const std::string& answer, const std::string& asked = "[1]") {
    Recording recording;
    recording.request = {
        .method = "POST", .path = "/predict", .body = proof_body("application/json", asked)};
    recording.answer = {.status = 200, .body = proof_body("application/json", answer)};
    recording.tolerance_absolute = 0.5;
    return recording;
}

TEST(Prove, ReadsWhatTheGateTells) {
    const auto read = parse_proved_pool(
        R"({"pool":"chat","model":"m.py","has_proof":true,"is_configured":false,"lanes":[
            {"lane":3,"state":"busy","serves":true,"count":4,"passed":true,"by":"check",
             "file":"/m.proof.json","request":{"method":"POST","path":"/predict",
             "content_type":"text/plain","size":2,"body":"hi"},
             "answer":{"status":200,"content_type":null,"size":2,"body_base64":"/wA="}},
            {"lane":4,"state":"failed","serves":false,"count":0}]})");
    ASSERT_TRUE(read) << read.error();
    const ProvedLane& first = read->lanes.at(0);
    EXPECT_EQ(first.lane, 3U);
    EXPECT_EQ(first.count, 4U);
    EXPECT_EQ(first.proof.by, ProofBy::check);
    EXPECT_EQ(first.proof.request.body.bytes, "hi");
    EXPECT_EQ(first.proof.answer.body.bytes, std::string("\xff\x00", 2));
    EXPECT_FALSE(read->lanes.at(1).serves);
    EXPECT_EQ(read->any_proof(), &first.proof);
}

TEST(Prove, WaitsForLanesThatWillAnswer) {
    const ProvedPool before = pool({lane(0, "1", 5), lane(1, "1", 5), lane(2, "1", 5)});
    ProvedPool now = before;
    now.lanes[0].count = 6;
    now.lanes[2].state = "failed";
    EXPECT_EQ(lanes_to_wait_for(before, now), (std::vector<std::size_t>{1}));
}

TEST(Prove, RecordsWhatAllLanesAnswer) {
    const auto plan = plan_recording(pool({lane(0, "[7]"), lane(1, "[7]")}), nothing(), Accept::no);
    ASSERT_TRUE(plan.write) << plan.text;
    EXPECT_EQ(plan.exit_code, exit_done);
    EXPECT_EQ(plan.write->answer.body.bytes, "[7]");
    EXPECT_EQ(plan.write->model, "model.py");
    EXPECT_EQ(plan.text, "recorded in /m/model.proof.json");
}

TEST(Prove, RecordsNothingIfLanesDifferOrDoNotServe) {
    const ProvedPool differing = pool({lane(0, "[7]"), lane(1, "[7]"), lane(2, "[1]")});
    const auto plan = plan_recording(differing, nothing(), Accept::yes);
    EXPECT_FALSE(plan.write);
    EXPECT_EQ(plan.exit_code, exit_failed);
    EXPECT_TRUE(text_of(differing).contains("lane 2 answers [0] = 1; lanes 0, 1 answer 7"))
        << text_of(differing);
    ProvedPool away = pool({lane(0, "[7]"), lane(1, "[7]")});
    away.lanes[1].serves = false;
    EXPECT_FALSE(plan_recording(away, nothing(), Accept::yes).write);
    ProvedPool failed = pool({lane(0, "[7]")});
    failed.lanes[0].proof.is_passed = false;
    EXPECT_FALSE(plan_recording(failed, nothing(), Accept::yes).write);
}

TEST(Prove, LeavesARecordingThatIsRight) {
    const auto plan = plan_recording(pool({lane(0, "[7.1]")}), found("[7.0]"), Accept::no);
    EXPECT_FALSE(plan.write);
    EXPECT_EQ(plan.exit_code, exit_done) << plan.text;
}

TEST(Prove, ReplacesAnotherAnswerOnlyIfThatIsWanted) {
    const ProvedPool proved = pool({lane(0, "[7.9]")});
    const auto refused = plan_recording(proved, found("[7.0]"), Accept::no);
    EXPECT_FALSE(refused.write);
    EXPECT_EQ(refused.exit_code, exit_failed);
    EXPECT_TRUE(refused.text.contains("[0]: 7.9 here, 7 recorded")) << refused.text;
    const auto accepted = plan_recording(proved, found("[7.0]"), Accept::yes);
    ASSERT_TRUE(accepted.write);
    EXPECT_EQ(accepted.write->tolerance_absolute, 0.5) << "what somebody chose stays";
    EXPECT_FALSE(plan_recording(proved, found("[7.9]", "[2]"), Accept::no).write)
        << "of another example";
    EXPECT_FALSE(plan_recording(proved, std::unexpected("broken"), Accept::no).write);
    EXPECT_TRUE(plan_recording(proved, std::unexpected("broken"), Accept::yes).write);
}

TEST(Prove, RecordsNothingWhereTheConfigurationSaysWhatIsRight) {
    ProvedPool proved = pool({lane(0, "[7]")});
    proved.is_configured = true;
    const auto plan = plan_recording(proved, nothing(), Accept::no);
    EXPECT_FALSE(plan.write);
    EXPECT_EQ(plan.exit_code, exit_done);
}

TEST(Prove, TamesWhatWorkersAnswer) {
    const std::string text = text_of(pool({lane(0, "\x1b[31mred\x07")}));
    EXPECT_FALSE(text.contains('\x1b'));
    EXPECT_FALSE(text.contains('\x07'));
}

}  // namespace
}  // namespace turnpike
