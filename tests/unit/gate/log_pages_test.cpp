#include "gate/log_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/gate/gate_fixture.h"

namespace turnpike {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t noon_ns = 1'794'744'000'000'000'000;  // 2026-11-15T12:00:00Z

TEST(LogPages, TakeTheLaneFromItsNumber) {
    EXPECT_EQ(lane_of("0", 2), 0U);
    EXPECT_EQ(lane_of("1", 2), 1U);
    for (const char* wrong : {"2", "", "-1", "+1", "1x", "x", " 1", "0x1", "18446744073709551616"})
        EXPECT_FALSE(lane_of(wrong, 2)) << wrong;
    EXPECT_FALSE(lane_of("0", 0));
}

TEST(LogPages, ReadTheQuery) {
    EXPECT_EQ(wanted_lines("")->after, 0U);
    EXPECT_EQ(wanted_lines("")->lines, 200U);
    EXPECT_EQ(wanted_lines("after=7&lines=2000")->after, 7U);
    EXPECT_EQ(wanted_lines("after=7&lines=2000")->lines, 2000U);
    EXPECT_EQ(wanted_lines("lines=0&after=18446744073709551615")->lines, 0U);
}

TEST(LogPages, RefuseQueriesThatMakeNoSense) {
    for (const char* query :
         {"lines=2001", "lines=-1", "lines=", "lines", "after=x", "after=1&&lines=2",
          "after=18446744073709551616", "last=3", "=3", "&", "after=1;lines=2", "after=%31"})
        EXPECT_FALSE(wanted_lines(query)) << query;
}

TEST(LogPages, ShowLines) {
    LaneLog log;
    LogSource source{LogStream::err};
    log.take(source, "one\ntwo \"2\"\nthree\n", noon_ns);
    EXPECT_EQ(lane_log_page(3, &log, {.after = 1, .lines = 1}),
              R"({"lane":3,"newest":3,"lines":[{"number":3,"time":"2026-11-15T12:00:00.000Z",)"
              R"("stream":"err","text":"three"}]})"
              "\n");
    EXPECT_THAT(lane_log_page(3, &log, {}), HasSubstr(R"("text":"two \"2\"")"));
    EXPECT_EQ(lane_log_page(3, &log, {.after = 3}), "{\"lane\":3,\"newest\":3,\"lines\":[]}\n");
}

TEST(LogPages, ShowALaneThatKeepsNoLog) {
    EXPECT_EQ(lane_log_page(0, nullptr, {}), "{\"lane\":0,\"newest\":0,\"lines\":[]}\n");
}

TEST(LogPages, ListCrashes) {
    RecentCrashes crashes(5);
    EXPECT_EQ(crashes_page(crashes), "{\"crashes\":[]}\n");
    crashes.add({.id = "1", .json = "{\"id\":\"1\"}\n", .page = "{}"});
    crashes.add({.id = "2", .json = "{\"id\":\"2\",", .page = "{}"});
    crashes.add({.id = "3", .json = "{\"id\":\"3\"}\n", .page = "{}"});
    EXPECT_EQ(crashes_page(crashes), "{\"crashes\":[{\"id\":\"3\"},{\"id\":\"1\"}]}\n")
        << "what was edited is left out";
}

struct LogRoutes : testing::Test {
    GateFixture fixture;

    LogRoutes() {
        fixture.lanes.resize(2);
        LogSource source;
        fixture.logs.emplace_back().take(source, "from the worker\n", noon_ns);
        fixture.crashes.add({.id = "20261115-1",
                             .json = "{\"id\":\"20261115-1\"}\n",
                             .page = "{\"id\":\"20261115-1\",\"log\":\"last words\"}\n"});
    }
    /// Returns what the command line gets.
    std::string get(const std::string& target) {
        Client& client = fixture.connect(Entrance::command_line);
        client.listen();
        client.say("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        EXPECT_TRUE(fixture.loop.run_until([&] { return client.is_over; }));
        return client.got;
    }
};

TEST_F(LogRoutes, AnswerWithALanesLog) {
    EXPECT_THAT(get("/-/lanes/0/log"), HasSubstr("\"text\":\"from the worker\""));
    EXPECT_THAT(get("/-/lanes/0/log?after=1"), HasSubstr("\"lines\":[]"));
    EXPECT_THAT(get("/-/lanes/1/log"), HasSubstr("{\"lane\":1,\"newest\":0,\"lines\":[]}"));
}

TEST_F(LogRoutes, RefuseWhatIsNotThere) {
    EXPECT_THAT(get("/-/lanes/2/log"),
                testing::AllOf(HasSubstr(" 404 "), HasSubstr("unknown-lane")));
    EXPECT_THAT(get("/-/lanes/x/log"),
                testing::AllOf(HasSubstr(" 404 "), HasSubstr("unknown-lane")));
    EXPECT_THAT(get("/-/lanes/0/log?lines=x"),
                testing::AllOf(HasSubstr(" 400 "), HasSubstr("bad-query")));
    EXPECT_THAT(get("/-/crashes/2"), testing::AllOf(HasSubstr(" 404 "), HasSubstr("no-crash")));
}

TEST_F(LogRoutes, AnswerWithCrashes) {
    EXPECT_THAT(get("/-/crashes"), testing::AllOf(HasSubstr("20261115-1"), Not(HasSubstr("log"))));
    EXPECT_THAT(get("/-/crashes/20261115-1"), HasSubstr("last words"));
}

}  // namespace
}  // namespace turnpike
