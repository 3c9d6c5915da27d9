#include "app/crashes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace turnpike {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Crashes, AreListedInATable) {
    EXPECT_EQ(
        crashes_text(R"({"crashes":[
          {"id":"20261115-120000-lane0-4711","time":"2026-11-15T12:00:00.000Z","lane":0,
           "how":"killed by SIGKILL","why":"load_silent","lived_s":90.5},
          {"id":"2","time":"2026-11-15T11:00:00.000Z","lane":12,"how":"exit code 1\u001b[2J",
           "why":"exited","lived_s":0.02}]})",
                     {}),
        "ID                          WHEN                  LANE  HOW                WHY          "
        "     LIVED\n"
        "20261115-120000-lane0-4711  2026-11-15 12:00:00Z     0  killed by SIGKILL  load silent  "
        "1 min 31 s\n"
        "2                           2026-11-15 11:00:00Z    12  exit code 1?[2J    exited       "
        "     20 ms\n");
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
              "  aboard     job abc: POST /x 12 B of a longer one\n"
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
