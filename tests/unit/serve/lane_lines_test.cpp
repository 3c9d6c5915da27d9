#include "serve/lane_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace turnpike {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Le;
using testing::Not;
using testing::SizeIs;

LaneFacts on_gpu(std::uint32_t index, std::string line = "") {
    LaneFacts facts;
    facts.gpus = {{.index = index, .uuid = "GPU-1", .name = "NVIDIA H200"}};
    facts.now.last_line = std::move(line);
    return facts;
}

std::vector<std::string> lines_of(const std::string& block) {
    std::istringstream in(block);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

TEST(LaneLines, ShowsALineForEachLane) {
    const LaneFacts loading = on_gpu(0, "Loading weights: 40 %");
    const LaneFacts ready = on_gpu(10);
    const std::vector<LaneSnapshot> lanes{
        {.lane = 0, .facts = loading, .state = LaneState::loading, .time = 3200ms},
        {.lane = 1, .facts = ready, .state = LaneState::ready, .time = 12s}};
    EXPECT_EQ(lane_block(lanes, {}),
              "lane 0  GPU 0 NVIDIA H200   loading  3.2 s   Loading weights: 40 %\n"
              "lane 1  GPU 10 NVIDIA H200  ready    12.0 s\n");
}

TEST(LaneLines, ShowsHowFarAModelHasLoaded) {
    LaneFacts facts = on_gpu(0, "its last line");
    const auto detail = [&](LoadNews news) {
        facts.now.loading = std::move(news);
        const std::vector<LaneSnapshot> lanes{
            {.lane = 0, .facts = facts, .state = LaneState::loading, .time = 1s}};
        const std::string line = lane_block(lanes, {});
        return line.substr(line.find("1.0 s") + 7);
    };
    EXPECT_EQ(detail({.permille = 405, .text = "layers"}), "40 % layers\n");
    EXPECT_EQ(detail({.permille = 1000, .text = ""}), "100 %\n");
    EXPECT_EQ(detail({.permille = 0, .text = ""}), "0 %\n");
    EXPECT_EQ(detail({.permille = {}, .text = "importing"}), "importing\n");
    EXPECT_EQ(detail({.permille = {}, .text = "\x1b[2J"}), "?[2J\n");
    EXPECT_EQ(detail({}), "its last line\n");
    facts.now.trouble = {.cause = LaneCause::exited, .told = "it died"};
    EXPECT_EQ(detail({.permille = 405, .text = "layers"}), "it died\n");
}

TEST(LaneLines, ShowsWhenAFailedLaneTriesAgain) {
    LaneFacts facts = on_gpu(0);
    const auto detail = [&](Duration next_try) {
        const std::vector<LaneSnapshot> lanes{{.lane = 0,
                                               .facts = facts,
                                               .state = LaneState::failed,
                                               .reason = Reason::crashed_too_often,
                                               .next_try = next_try,
                                               .time = 1s}};
        const std::string line = lane_block(lanes, {.columns = 120});
        return line.substr(line.find("1.0 s") + 7);
    };
    EXPECT_EQ(detail(Duration::zero()), "it crashed too often\n");
    EXPECT_EQ(detail(252s), "next try in 4 min 12 s: it crashed too often\n");
    facts.now.trouble = {.cause = LaneCause::exited, .told = "exit code 1"};
    EXPECT_EQ(detail(252s), "next try in 4 min 12 s: exit code 1\n");
}

TEST(LaneLines, IsNeverWiderThanTheScreen) {
    const LaneFacts facts = on_gpu(0, std::string(500, 'x'));
    const std::vector<LaneSnapshot> lanes(
        3, {.lane = 0, .facts = facts, .state = LaneState::loading, .time = 1s});
    for (const std::size_t columns : {1U, 2U, 10U, 40U, 80U, 200U}) {
        const auto lines = lines_of(lane_block(lanes, {.columns = columns}));
        EXPECT_THAT(lines, SizeIs(3)) << columns;
        EXPECT_THAT(lines, Each(SizeIs(Le(std::max(columns - 1, std::size_t{1}))))) << columns;
    }
    EXPECT_THAT(lines_of(lane_block(lanes, {.columns = 200})), Each(SizeIs(199)));
}

TEST(LaneLines, CutsBetweenCharacters) {
    const LaneFacts facts = on_gpu(0, "100%|\u2588\u2588\u2588\u2588|\u6f22\u5b57");
    const std::vector<LaneSnapshot> lanes{
        {.lane = 0, .facts = facts, .state = LaneState::loading, .time = 1s}};
    const std::string head = "lane 0  GPU 0 NVIDIA H200  loading  1.0 s  ";
    EXPECT_EQ(lane_block(lanes, {}), head + "100%|\u2588\u2588\u2588\u2588|\u6f22\u5b57\n");
    EXPECT_EQ(lane_block(lanes, {.columns = head.size() + 8}), head + "100%|\u2588\u2588\n");
    EXPECT_EQ(lane_block(lanes, {.columns = head.size() + 14}),
              head + "100%|\u2588\u2588\u2588\u2588|\u6f22\n")
        << "half a wide character would be in the next line";
}

TEST(LaneLines, ShowsTheStateBesideALongUrl) {
    const LaneFacts facts{.worker = "http://" + std::string(200, 'x')};
    const std::vector<LaneSnapshot> lanes{
        {.lane = 0, .facts = facts, .state = LaneState::loading, .time = 1s}};
    EXPECT_THAT(lane_block(lanes, {}), HasSubstr("x  loading  1.0 s\n"));
}

TEST(LaneLines, IsNeverHigherThanTheScreen) {
    const LaneFacts facts = on_gpu(0);
    std::vector<LaneSnapshot> lanes;
    for (std::size_t i = 0; i < 10; ++i)
        lanes.push_back({.lane = i,
                         .facts = facts,
                         .state = i < 5 ? LaneState::ready : LaneState::loading,
                         .time = 1s});
    EXPECT_THAT(lines_of(lane_block(lanes, {.rows = 12})), SizeIs(10));
    const auto fewer = lines_of(lane_block(lanes, {.rows = 11}));
    EXPECT_THAT(fewer, SizeIs(6)) << "those that serve make room first";
    EXPECT_THAT(fewer.front(), HasSubstr("lane 5"));
    EXPECT_EQ(fewer.back(), "and 5 more");
    EXPECT_THAT(
        lines_of(lane_block(lanes, {.rows = 5})),
        ElementsAre(HasSubstr("lane 5"), HasSubstr("lane 6"), HasSubstr("lane 7"), "and 7 more"));
    EXPECT_THAT(lines_of(lane_block(lanes, {.rows = 1})), SizeIs(2));
}

TEST(LaneLines, ShowsNothingThatATerminalCouldObey) {
    const LaneFacts facts = on_gpu(0, "\x1b[2J\r\x07 caf\xc3\xa9");
    const std::vector<LaneSnapshot> lanes{
        {.lane = 0, .facts = facts, .state = LaneState::loading, .time = 1s}};
    EXPECT_THAT(lane_block(lanes, {}), HasSubstr("?[2J?? caf\xc3\xa9\n"));
    EXPECT_THAT(lane_block(lanes, {}), Not(HasSubstr("\x1b")));
}

TEST(LaneLines, SaysWhatALaneWaitsFor) {
    const LaneFacts away{
        .worker = "http://127.0.0.1:8001",
        .now = {.trouble = {.cause = LaneCause::refused, .told = "connection refused"}}};
    const LaneFacts turn;
    const std::vector<LaneSnapshot> lanes{{.lane = 0,
                                           .facts = away,
                                           .state = LaneState::backoff,
                                           .reason = Reason::worker_away,
                                           .time = 1s},
                                          {.lane = 1,
                                           .facts = turn,
                                           .state = LaneState::starting,
                                           .reason = Reason::turn_to_load,
                                           .time = 1s}};
    EXPECT_EQ(lane_block(lanes, {.columns = 100}),
              "lane 0  http://127.0.0.1:8001  waiting   1.0 s  connection refused\n"
              "lane 1  CPU                    starting  1.0 s  it waits for its turn to load\n");
}

TEST(LaneLines, IsSettledWhenNothingMoreWillCome) {
    for (const LaneState state : {LaneState::ready, LaneState::busy, LaneState::failed,
                                  LaneState::quarantined, LaneState::drained, LaneState::draining})
        EXPECT_TRUE(is_settled(state)) << name_of(state);
    for (const LaneState state :
         {LaneState::starting, LaneState::loading, LaneState::proving, LaneState::backoff})
        EXPECT_FALSE(is_settled(state)) << name_of(state);
}

TEST(LaneLines, TellsHowLongEachPartOfAStartTook) {
    LaneFacts facts = on_gpu(0);
    facts.now.start = {.spawn = 3ms, .listen = 3900ms, .load = 200ms, .proof = 50ms};
    const auto serving = [&] {
        return serving_text({.lane = 0, .facts = facts, .state = LaneState::ready, .time = 4200ms});
    };
    EXPECT_EQ(serving(),
              "lane 0 serves on GPU 0 after 4.2 s (spawn 3.0 ms + listen 3.9 s + load 200 ms + "
              "proof 50 ms)");
    facts.now.start.proof.reset();
    EXPECT_THAT(serving(), HasSubstr("load 200 ms)"));
    facts.now.start = {.spawn = 3ms, .import = 40ms, .load = 210ms};
    EXPECT_THAT(serving(), HasSubstr("(spawn 3.0 ms + import 40 ms + load 210 ms)"));
    facts.now.start.is_warm = true;
    EXPECT_THAT(serving(), HasSubstr("(warm: spawn 3.0 ms + import 40 ms + load 210 ms)"));
    facts.now.start = {};
    facts.gpus.push_back({.index = 1});
    EXPECT_EQ(serving(), "lane 0 serves on GPUs 0,1 after 4.2 s");
    facts.gpus.clear();
    EXPECT_EQ(serving(), "lane 0 serves after 4.2 s");
    facts.worker = "http://127.0.0.1:8001";
    EXPECT_EQ(serving(), "lane 0 serves, http://127.0.0.1:8001, after 4.2 s");
}

TEST(LaneLines, TellsHowLongALaneHasBeenLoading) {
    const LaneFacts facts = on_gpu(0, "Loading weights");
    EXPECT_EQ(
        loading_text({.lane = 2, .facts = facts, .state = LaneState::loading, .time = 20400ms}),
        "lane 2 loading for 20 s: Loading weights");
    const LaneFacts silent = on_gpu(0);
    EXPECT_EQ(loading_text({.lane = 2, .facts = silent, .state = LaneState::proving, .time = 10s}),
              "lane 2 proving for 10 s");
}

}  // namespace
}  // namespace turnpike
