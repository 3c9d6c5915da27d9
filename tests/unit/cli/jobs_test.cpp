#include "cli/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/cancel.h"

namespace turnpike {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view page = R"({"live":[
  {"id":"aaaaaaaaaaaaa","pool":"chat","state":"running","since_s":12.34,"lane":1,"attempts":2,
   "client":"127.0.0.1:5000","method":"POST","path":"/predict"},
  {"id":"bbbbbbbbbbbbb","pool":"chat","state":"queued","since_s":0.5,"lane":null,"attempts":0,
   "client":"127.0.0.1:5001","method":"POST","path":"/x\u001b[31m"}],
 "ended":[
  {"state":"ended","id":"ccccccccccccc","pool":"chat","lane":0,"gpu":null,
   "arrived":"2026-11-15T10:00:00.123Z","queue_ms":0.1,"run_ms":1234.5,"attempts":1,"status":200,
   "bytes_in":5,"bytes_out":7,"client":"127.0.0.1:5000","method":"POST","path":"/predict",
   "outcome":"finished","reason":"answered"},
  {"state":"ended","id":"ddddddddddddd","pool":"chat","lane":null,"gpu":null,
   "arrived":"2026-11-15T09:00:00.000Z","queue_ms":3600000,"run_ms":0,"attempts":0,"status":503,
   "bytes_in":5,"bytes_out":7,"client":"127.0.0.1:5000","key":"bob","method":"GET","path":"/",
   "outcome":"timed_out","reason":"waited_too_long"}]})";

std::string shown(const JobsPage& jobs) {
    const auto text = jobs_text(jobs, {});
    return text ? *text : "refused: " + text.error();
}

TEST(Jobs, ShowsTheLiveOnesAndThenTheEnded) {
    EXPECT_EQ(
        shown({.json = page}),
        "LIVE JOB       POOL  STATE       FOR  LANE  TRIES  REQUEST\n"
        "aaaaaaaaaaaaa  chat  running  12.3 s     1      2  POST /predict\n"
        "bbbbbbbbbbbbb  chat  queued   500 ms     -      0  POST /x?[31m\n"
        "\n"
        "ENDED JOB      POOL               ARRIVED     QUEUED    RAN  LANE  TRIES  REQUEST        "
        "STATUS  OUTCOME\n"
        "ccccccccccccc  chat  2026-11-15 10:00:00Z     0.1 ms  1.2 s     0      1  POST /predict  "
        "   200  finished\n"
        "ddddddddddddd  chat  2026-11-15 09:00:00Z  1 h 0 min      -     -      0  GET /          "
        "   503  timed out: waited too long\n");
}

TEST(Jobs, ShowsTheProgressThatModelsTell) {
    const auto row = [](std::string_view progress) {
        return shown({.json = R"({"live":[{"id":"a","state":"running","path":"/","progress":)" +
                              std::string(progress) + "}]}"});
    };
    EXPECT_THAT(row(R"({"fraction":0.4,"text":"step 12/30"})"), HasSubstr("40 % step 12/30"));
    EXPECT_THAT(row(R"({"fraction":1,"text":null})"), HasSubstr("100 %"));
    EXPECT_THAT(row(R"({"fraction":null,"text":"wait\u001b[1m"})"), HasSubstr("wait?[1m"));
    EXPECT_THAT(row(R"({"fraction":0,"text":""})"), HasSubstr("PROGRESS"));
    EXPECT_THAT(row("null"), Not(HasSubstr("PROGRESS")));
}

TEST(Jobs, ShowsOnlyTheTimeOfJobsOfToday) {
    EXPECT_THAT(shown({.json = page, .today = "2026-11-15"}), HasSubstr("  10:00:00Z  "));
    EXPECT_THAT(shown({.json = page, .today = "2026-11-15"}), Not(HasSubstr("2026")));
    EXPECT_THAT(shown({.json = page, .today = "2026-11-16"}), HasSubstr("2026-11-15 10:00:00Z"));
}

TEST(Jobs, HasAPlaceForTheNameOfAJobThatWasRefusedWithoutOne) {
    EXPECT_THAT(shown({.json = R"({"ended":[{"id":"","path":"/"}]})"}), HasSubstr("ENDED JOB"));
}

TEST(Jobs, NamesClientsIfTheyAreElsewhere) {
    const std::string text = shown({.json = R"({"live":[
        {"id":"a","pool":"default","client":"[::1]:7","method":"GET","path":"/"},
        {"id":"b","pool":"default","client":"10.0.0.7:4","method":"GET","path":"/"}]})"});
    EXPECT_THAT(text, AllOf(HasSubstr("REQUEST  CLIENT\n"), HasSubstr("GET /    -\n"),
                            HasSubstr("GET /    10.0.0.7:4\n"), Not(HasSubstr("POOL"))));
}

TEST(Jobs, ShowsAsManyEndedOnesAsAsked) {
    EXPECT_THAT(shown({.json = page, .last = 1}), Not(HasSubstr("ddddddddddddd")));
    EXPECT_THAT(shown({.json = page, .last = 1}), HasSubstr("ccccccccccccc"));
    EXPECT_THAT(shown({.json = page, .last = 0}), Not(HasSubstr("ENDED")));
}

TEST(Jobs, SaysThatThereAreNone) {
    EXPECT_EQ(shown({.json = R"({"live":[],"ended":[]})"}), "no live jobs\n");
}

TEST(Jobs, RefusesATextThatIsNotAList) {
    EXPECT_THAT(shown({.json = "[]"}), HasSubstr("refused: "));
}

TEST(Cancel, SaysWhatHappened) {
    EXPECT_EQ(cancel_text("abc", "{\"cancelled\":true}\n"), "job abc is cancelled\n");
    EXPECT_EQ(cancel_text("abc", R"({"cancelled":false,"why":"it has ended"})"),
              "job abc was not cancelled: it has ended\n");
    EXPECT_FALSE(cancel_text("abc", "ok").has_value());
}

TEST(Cancel, PutsOnlyHarmlessWordsIntoAUrl) {
    EXPECT_TRUE(could_be_job_id("3k9f2m1x0a7bq"));
    EXPECT_TRUE(could_be_job_id(std::string(64, 'a')));
    for (const std::string& word :
         {std::string(), std::string("../status"), std::string("a b"), std::string("a?b"),
          std::string("a\r\nX: y"), std::string("%2e"), std::string(65, 'a')})
        EXPECT_FALSE(could_be_job_id(word)) << word;
}

}  // namespace
}  // namespace turnpike
