#include "cli/crashes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "telemetry/crash_report.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(Crashes, AreListedInATable) {
    EXPECT_EQ(
        crashes_text(R"({"crashes":[
          {"id":"20261115-120000-lane0-4711","time":"2026-11-15T12:00:00.000Z","lane":0,
           "how":"killed by SIGKILL","why":"load_silent","lived_s":90.5,"last_line":"shard 3"},
          {"id":"2","time":"2026-11-15T11:00:00.000Z","lane":12,"how":"exit code 1\u001b[2J",
           "why":"exited","lived_s":0.02}]})",
                     {}),
        "ID                          WHEN                  LANE       LIVED  HOW                "
        "WHY\n"
        "20261115-120000-lane0-4711  2026-11-15 12:00:00Z     0  1 min 31 s  killed by SIGKILL  "
        "load silent\n"
        "2                           2026-11-15 11:00:00Z    12       20 ms  exit code 1?[2J    "
        "exited\n");
}

TEST(Crashes, FitIntoANarrowTerminal) {
    const std::string page =
        R"({"crashes":[{"id":"20261116-004321-378-lane0-10569","time":"2026-11-16T00:43:21.378Z",
            "lane":0,"lived_s":29.5,"how":"its guard died: killed by SIGKILL","why":"exited"}]})";
    EXPECT_EQ(crashes_text(page, {.columns = 80}).value_or(""),
              "ID                               LANE   LIVED  HOW                        WHY\n"
              "20261116-004321-378-lane0-10569     0  29.5 s  its guard died: killed...  exited\n")
        << "its ID has the time";
}

TEST(Crashes, OfWorkersThatEndedByThemselvesAreListedWithWhatTheySaidLast) {
    const auto listed = [](const std::string& facts) {
        return crashes_text(R"({"crashes":[{"why":"exited",)" + facts + "}]}", {}).value_or("");
    };
    EXPECT_THAT(listed(R"("exit_code":1,"signal":null,"last_line":"ValueError: x\u001b[2J")"),
                EndsWith("  ValueError: x?[2J\n"));
    EXPECT_THAT(listed(R"("exit_code":1,"last_line":"turnpike: no model")"),
                EndsWith("  no model\n"));
    EXPECT_THAT(listed(R"("signal":11,"last_line":"fault")"), EndsWith("  fault\n"));
    EXPECT_THAT(listed(R"("signal":9,"last_line":"GET / 200")"), EndsWith("  exited\n"));
    EXPECT_THAT(listed(R"("signal":15,"last_line":"GET / 200")"), EndsWith("  exited\n"));
    EXPECT_THAT(listed(R"("exit_code":1,"last_line":null)"), EndsWith("  exited\n"));
}

TEST(Crashes, OfEarlierRunsAreReadFromTheirFolder) {
    const TemporaryFolder parent;
    const std::string folder = parent.file("crashes");
    EXPECT_EQ(earlier_crashes(folder, {}), std::nullopt);
    const auto write = [&folder](std::uint64_t lane) {
        return write_crash_report(folder, {.lane = lane, .how = "exit code 1", .log = "err last"},
                                  10)
            .value_or("");
    };
    const std::string first = write(0);
    const std::string second = write(1);
    const std::string list =
        crashes_text(earlier_crashes(folder, {}).value_or(""), {}).value_or("");
    EXPECT_THAT(list, AllOf(HasSubstr(first), HasSubstr(second), HasSubstr("exit code 1")));
    EXPECT_THAT(crash_text(earlier_crashes(folder, second).value_or(""), {}).value_or(""),
                AllOf(HasSubstr(second), HasSubstr("its last lines:\nerr last\n")));
    EXPECT_EQ(earlier_crashes(folder, "20200101-1"), std::nullopt);
    EXPECT_EQ(earlier_crashes(folder, "../crashes/" + first), std::nullopt);
}

TEST(Crashes, MayBeNone) {
    EXPECT_EQ(crashes_text(R"({"crashes":[]})", {}), "no worker has died\n");
}

TEST(Crashes, SurviveAnAnswerOfAnotherVersion) {
    EXPECT_FALSE(crashes_text("nonsense", {}));
    EXPECT_FALSE(crash_text("[]", {}));
    EXPECT_TRUE(crash_text("{}", {}));
    EXPECT_TRUE(crashes_text(R"({"crashes":[1,{}]})", {}));
}

TEST(Crashes, AreShownWithEverythingAndTheLogAtTheEnd) {
    EXPECT_EQ(crash_text(R"({"id":"20261115-1","time":"2026-11-15T12:00:00.000Z","lane":2,
                 "pool":"chat","generation":3,"pid":4711,"command":"vllm serve",
                 "gpus":["0 GPU-1 H200","1 GPU-2 H200"],"why":"load_silent","how":"exit code 1",
                 "exit_code":1,"signal":null,"lived_s":2,"memory_peak_bytes":1610612736,
                 "gpu_memory_used_bytes":2048,"oom":"Out of memory: Killed process 4711",
                 "inputs":[{"job":"abc","request":"POST /x","bytes":12,"cut":true}],
                 "log":"größe\n\u001b[31mred\nlast","files":["/s/report.json"]})",
                         {}),
              "20261115-1\n"
              "  when       2026-11-15 12:00:00Z\n"
              "  lane       2\n"
              "  pool       chat\n"
              "  generation 3\n"
              "  how        exit code 1\n"
              "  why        load silent\n"
              "  kernel     Out of memory: Killed process 4711\n"
              "  lived      2.0 s\n"
              "  pid        4711\n"
              "  command    vllm serve\n"
              "  gpu        0 GPU-1 H200\n"
              "  gpu        1 GPU-2 H200\n"
              "  memory     1.5 GiB\n"
              "  gpu memory 2.0 KiB\n"
              "  aboard     job abc: POST /x 12 B (cut off)\n"
              "  file       /s/report.json\n"
              "\n"
              "its last lines:\n"
              "größe\n"
              "red\n"
              "last\n");
}

TEST(Crashes, AreShownWithoutWhatIsNotKnown) {
    const auto text =
        crash_text(R"({"id":"1","oom":null,"memory_peak_bytes":null,"log":"","gpus":[]})", {});
    EXPECT_EQ(text, "1\n");
}

}  // namespace
}  // namespace turnpike
