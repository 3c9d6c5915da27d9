#include "telemetry/lane_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::StartsWith;
using namespace std::string_view_literals;

constexpr std::int64_t noon_ns = 1'794'744'000'123'000'000;  // 2026-11-15T12:00:00.123Z

struct Stand {
    std::string file;
    LaneLog log{[this](std::string_view line) { file += line; }};
    LogSource out{LogStream::out};
    LogSource err{LogStream::err};

    void print(std::string_view bytes) { log.take(out, bytes, noon_ns); }
    void complain(std::string_view bytes) { log.take(err, bytes, noon_ns); }
    [[nodiscard]] std::vector<std::string> texts() const {
        std::vector<std::string> found;
        for (const LogLine* line : log.lines(0, LaneLog::lines_kept_max))
            found.push_back(line->text);
        return found;
    }
};

TEST(LaneLog, SplitsOutputIntoLines) {
    Stand stand;
    stand.print("one\ntwo\n\nfour");
    EXPECT_THAT(stand.texts(), ElementsAre("one", "two", ""));
    stand.print("teen\n");
    EXPECT_THAT(stand.texts(), ElementsAre("one", "two", "", "fourteen"));
}

TEST(LaneLog, DoesNotMindWhereChunksAreCut) {
    constexpr std::string_view text =
        "one\r\ntwo\n\x1b[31mred\x1b[0m\n 1%\r 2%\r\r\n größe 字\n\xFF\n\r\rdone\nrest";
    Stand whole;
    whole.print(text);
    whole.log.end(whole.out, noon_ns);
    ASSERT_EQ(whole.texts().size(), 8U);
    for (std::size_t cut = 0; cut <= text.size(); ++cut)
        for (std::size_t second = cut; second <= text.size(); ++second) {
            Stand stand;
            stand.print(text.substr(0, cut));
            stand.print(text.substr(cut, second - cut));
            stand.print(text.substr(second));
            stand.log.end(stand.out, noon_ns);
            ASSERT_EQ(stand.file, whole.file) << "cut at " << cut << " and " << second;
        }
}

TEST(LaneLog, NumbersAndStampsEveryLine) {
    Stand stand;
    stand.print("a\n");
    stand.log.take(stand.err, "b\n", noon_ns + 5);
    const auto lines = stand.log.lines(0, 10);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0]->number, 1U);
    EXPECT_EQ(lines[0]->stream, LogStream::out);
    EXPECT_EQ(lines[0]->unix_ns, noon_ns);
    EXPECT_EQ(lines[1]->number, 2U);
    EXPECT_EQ(lines[1]->stream, LogStream::err);
    EXPECT_EQ(lines[1]->unix_ns, noon_ns + 5);
    EXPECT_EQ(stand.log.newest(), 2U);
}

TEST(LaneLog, RendersLinesForTheFile) {
    Stand stand;
    stand.print("hello\n");
    stand.log.take(stand.err, "oh\n", noon_ns + 1'000'000);
    stand.log.remark("worker 4711 started", noon_ns + 2'000'000);
    EXPECT_EQ(stand.file,
              "2026-11-15T12:00:00.123Z out hello\n"
              "2026-11-15T12:00:00.124Z err oh\n"
              "2026-11-15T12:00:00.125Z turnpike worker 4711 started\n");
}

TEST(LaneLog, WorksWithoutAFile) {
    LaneLog log;
    LogSource source;
    log.take(source, "line\n", noon_ns);
    EXPECT_EQ(log.newest(), 1U);
}

TEST(LaneLog, KeepsTheStreamsApart) {
    Stand stand;
    stand.print("half a ");
    stand.complain("trouble\n");
    stand.print("line\n");
    EXPECT_THAT(stand.texts(), ElementsAre("trouble", "half a line"));
}

TEST(LaneLog, KeepsTwoWorkersOfOneLaneApart) {
    Stand stand;
    LogSource next{LogStream::out};
    stand.print("old ");
    stand.log.take(next, "new\n", noon_ns);
    stand.print("worker\n");
    EXPECT_THAT(stand.texts(), ElementsAre("new", "old worker"));
}

TEST(LaneLog, TreatsCarriageReturnAndLineFeedAsOneEnd) {
    Stand stand;
    stand.print("one\r\ntwo\r");
    stand.print("\nthree\r\r\n");
    EXPECT_THAT(stand.texts(), ElementsAre("one", "two", "three"));
}

TEST(LaneLog, KeepsWhatAProgressBarShowedLast) {
    Stand stand;
    for (int i = 0; i <= 1000; ++i) {
        stand.complain("\r" + std::to_string(i) + "/1000");
        EXPECT_EQ(stand.log.last_line(), std::to_string(i) + "/1000");
    }
    EXPECT_THAT(stand.texts(), IsEmpty());
    stand.complain("\nnext\n");
    EXPECT_THAT(stand.texts(), ElementsAre("1000/1000", "next"));
}

TEST(LaneLog, KeepsWhatABarShowedLastIfItEndsItsUpdatesWithTheReturn) {
    Stand stand;
    for (int i = 0; i <= 1000; ++i) {
        stand.complain(std::to_string(i) + "/1000\r");
        EXPECT_EQ(stand.log.last_line(), std::to_string(i) + "/1000");
    }
    stand.log.end(stand.err, noon_ns);
    EXPECT_THAT(stand.texts(), ElementsAre("1000/1000"));
}

TEST(LaneLog, CutsAnEndlessLineWithAMark) {
    Stand stand;
    const std::string half(LaneLog::line_max / 2, 'x');
    for (int i = 0; i < 5; ++i) stand.print(half);
    stand.print("\n");
    const std::string piece = std::string(LaneLog::line_max, 'x') + std::string(LaneLog::cut_mark);
    EXPECT_THAT(stand.texts(), ElementsAre(piece, piece, half));
}

TEST(LaneLog, DoesNotCutALineThatJustFits) {
    Stand stand;
    const std::string line(LaneLog::line_max, 'x');
    stand.print(line);
    stand.print("\n");
    stand.print(line + "\n");
    EXPECT_THAT(stand.texts(), ElementsAre(line, line));
}

TEST(LaneLog, CutsBetweenCharacters) {
    for (const std::string_view character : {"ä"sv, "字"sv, "🚀"sv}) {
        for (std::size_t offset = 0; offset < character.size(); ++offset) {
            Stand stand;
            stand.print(std::string(offset, 'x'));
            for (std::size_t i = 0; i < LaneLog::line_max; ++i) stand.print(character);
            stand.print("\n");
            for (const std::string& text : stand.texts())
                ASSERT_FALSE(text.contains("\xEF\xBF\xBD")) << character << " after " << offset;
            EXPECT_GT(stand.texts().size(), 1U);
        }
    }
}

TEST(LaneLog, AlsoCutsBytesThatAreNotCharacters) {
    Stand stand;
    stand.print(std::string(3 * LaneLog::line_max, '\xF0') + "\n");
    stand.print(std::string(3 * LaneLog::line_max, '\x80') + "\n");
    EXPECT_GE(stand.log.newest(), 6U);
    EXPECT_LE(stand.log.newest(), 8U);
}

TEST(LaneLog, KeepsControlsAndStrayBytesOut) {
    Stand stand;
    stand.print("a\0b\x1b[2Jc\x07\xFF\n"sv);
    EXPECT_THAT(stand.texts(), ElementsAre("abc\xEF\xBF\xBD"));
    EXPECT_THAT(stand.file, EndsWith(" abc\xEF\xBF\xBD\n"));
}

TEST(LaneLog, FinishesTheLastLineAtTheEnd) {
    Stand stand;
    stand.print("no newline");
    stand.log.end(stand.out, noon_ns + 7);
    stand.log.end(stand.out, noon_ns + 8);
    ASSERT_THAT(stand.texts(), ElementsAre("no newline"));
    EXPECT_EQ(stand.log.lines(0, 1)[0]->unix_ns, noon_ns + 7);
}

TEST(LaneLog, GivesTheNewestLinesAfterANumber) {
    Stand stand;
    for (int i = 1; i <= 10; ++i) stand.print(std::to_string(i) + "\n");
    const auto numbers = [&](std::uint64_t after, std::size_t max) {
        std::vector<std::uint64_t> found;
        for (const LogLine* line : stand.log.lines(after, max)) found.push_back(line->number);
        return found;
    };
    EXPECT_THAT(numbers(0, 3), ElementsAre(8, 9, 10));
    EXPECT_THAT(numbers(8, 3), ElementsAre(9, 10));
    EXPECT_THAT(numbers(10, 3), IsEmpty());
    EXPECT_THAT(numbers(99, 3), IsEmpty());
    EXPECT_THAT(numbers(0, 0), IsEmpty());
}

TEST(LaneLog, KeepsNoMoreLinesThanItsMaximum) {
    Stand stand;
    for (std::size_t i = 0; i < 2 * LaneLog::lines_kept_max; ++i) stand.print("x\n");
    const auto lines = stand.log.lines(0, 1'000'000);
    EXPECT_EQ(lines.size(), LaneLog::lines_kept_max);
    EXPECT_EQ(lines.front()->number, LaneLog::lines_kept_max + 1);
    EXPECT_EQ(lines.back()->number, 2 * LaneLog::lines_kept_max);
}

TEST(LaneLog, KeepsNoMoreBytesThanItsMaximum) {
    Stand stand;
    const auto kept = [&] {
        std::size_t bytes = 0;
        for (const std::string& text : stand.texts()) bytes += text.size();
        return bytes;
    };
    for (int i = 0; i < 200; ++i) {
        stand.print(std::string(4000, 'x') + "\n");
        ASSERT_LE(kept(), LaneLog::bytes_kept_max);
    }
    EXPECT_GT(kept(), LaneLog::bytes_kept_max - 4001);
}

TEST(LaneLog, HasALastLineThatIsNotBlank) {
    Stand stand;
    EXPECT_EQ(stand.log.last_line(), "");
    stand.print("loading\n\n   \n");
    EXPECT_EQ(stand.log.last_line(), "loading");
    stand.complain("\x1b[32mshard 1 of 4");
    EXPECT_EQ(stand.log.last_line(), "shard 1 of 4");
    stand.log.remark("a remark is none of the worker's", noon_ns);
    EXPECT_EQ(stand.log.last_line(), "shard 1 of 4");
    stand.log.forget_last_line();
    EXPECT_EQ(stand.log.last_line(), "");
}

TEST(LaneLog, RemarksInSeveralLines) {
    Stand stand;
    stand.log.remark("one\ntwo", noon_ns);
    EXPECT_THAT(stand.texts(), ElementsAre("one", "two"));
    EXPECT_EQ(stand.log.lines(0, 1)[0]->stream, LogStream::turnpike);
}

TEST(LaneLog, HasANameForEveryStream) {
    for (const LogStream stream :
         {LogStream::out, LogStream::err, LogStream::turnpike, LogStream::stacks})
        EXPECT_THAT(name_of(stream), testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace turnpike
