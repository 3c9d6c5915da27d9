#include "cli/logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view page_text = R"({"lane":1,"newest":8,"lines":[
  {"number":7,"time":"2026-11-15T12:00:00.001Z","stream":"out","text":"größe \u001b[2J7"},
  {"number":8,"time":"2026-11-15T12:00:00.003Z","stream":"turnpike","text":"ended"}]})";

LogPage page_of(std::size_t lane, const std::vector<std::string>& times) {
    LogPage page{.lane = lane, .newest = times.size(), .lines = {}};
    for (const std::string& time : times)
        page.lines.push_back({.lane = lane,
                              .number = page.lines.size() + 1,
                              .time = time,
                              .stream = "out",
                              .text = std::to_string(lane) + "@" + time});
    return page;
}

std::vector<std::string> texts(const std::vector<LaneLogLine>& lines) {
    std::vector<std::string> found;
    for (const LaneLogLine& line : lines) found.push_back(line.text);
    return found;
}

TEST(Logs, ReadWhatTheGateAnswers) {
    const auto page = parse_log_page(page_text);
    ASSERT_TRUE(page);
    EXPECT_EQ(page->lane, 1U);
    EXPECT_EQ(page->newest, 8U);
    ASSERT_EQ(page->lines.size(), 2U);
    EXPECT_EQ(page->lines[0].number, 7U);
    EXPECT_EQ(page->lines[1].stream, "turnpike");
}

TEST(Logs, SurviveAnAnswerOfAnotherVersion) {
    EXPECT_FALSE(parse_log_page("[]"));
    EXPECT_FALSE(parse_log_page("lines"));
    EXPECT_THAT(parse_log_page("{}")->lines, IsEmpty());
    EXPECT_EQ(parse_log_page(R"({"lines":[1,{"text":5}]})")->lines[1].text, "");
    EXPECT_FALSE(lanes_of("nonsense"));
}

TEST(Logs, TakeTheLanesFromTheStatus) {
    EXPECT_THAT(*lanes_of(R"({"lanes":[{"lane":0},{"lane":1}]})"), ElementsAre(0U, 1U));
    EXPECT_THAT(*lanes_of("{}"), IsEmpty());
}

TEST(Logs, MergeLanesByTime) {
    EXPECT_THAT(texts(merged({page_of(0, {"1", "4"}), page_of(1, {"2", "3", "4"})}, 10)),
                ElementsAre("0@1", "1@2", "1@3", "0@4", "1@4"));
    EXPECT_THAT(texts(merged({page_of(0, {"1", "4"}), page_of(1, {"2", "3", "5"})}, 2)),
                ElementsAre("0@4", "1@5"));
    EXPECT_THAT(merged({page_of(0, {"1"})}, 0), IsEmpty());
    EXPECT_THAT(merged({}, 5), IsEmpty());
}

TEST(Logs, KeepTheOrderOfOneLaneWhateverItsClockDid) {
    EXPECT_THAT(texts(merged({page_of(0, {"5", "3", "4"})}, 10)), ElementsAre("0@5", "0@3", "0@4"));
}

TEST(Logs, NameTheLaneInFrontIfThereAreSeveral) {
    const auto lines = merged({page_of(0, {"1"}), page_of(12, {"2"})}, 10);
    EXPECT_EQ(lines_text(lines, {.names_lanes = true}), "lane 0 │ 0@1\nlane 12 │ 12@2\n");
    EXPECT_EQ(lines_text(lines, {}), "0@1\n12@2\n");
}

TEST(Logs, AreColouredOnATerminalOnly) {
    const auto lines = parse_log_page(page_text)->lines;
    EXPECT_EQ(lines_text(lines, {.text = {.colours = true}, .names_lanes = true}),
              "\x1b[32mlane 1 │ \x1b[0mgröße 7\n\x1b[32mlane 1 │ \x1b[0m\x1b[2mended\x1b[0m\n");
    EXPECT_THAT(lines_text(lines, {.names_lanes = true}), Not(HasSubstr("\x1b")));
}

TEST(Logs, AreNotObeyedByTheTerminal) {
    EXPECT_EQ(lines_text(parse_log_page(page_text)->lines, {}), "größe 7\nended\n");
}

TEST(Logs, AreAnObjectPerLineAsJson) {
    EXPECT_EQ(lines_json(page_of(3, {"now"}).lines),
              R"({"lane":3,"number":1,"time":"now","stream":"out","text":"3@now"})"
              "\n");
}

TEST(Logs, TellOfLinesThatWereMissed) {
    LogPage page = *parse_log_page(page_text);
    add_gap_notice(page, 6);
    EXPECT_EQ(page.lines.size(), 2U) << "7 follows 6";
    add_gap_notice(page, 5);
    ASSERT_EQ(page.lines.size(), 3U);
    EXPECT_EQ(page.lines[0].text, "(1 line came too fast to be shown)");
    LogPage first = *parse_log_page(page_text);
    add_gap_notice(first, 0);
    EXPECT_EQ(first.lines[0].text, "(6 lines came too fast to be shown)");
    LogPage nothing;
    add_gap_notice(nothing, 3);
    EXPECT_THAT(nothing.lines, IsEmpty());
}

}  // namespace
}  // namespace turnpike
