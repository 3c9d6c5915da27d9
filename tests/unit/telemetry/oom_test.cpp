#include "telemetry/oom.h"

#include <gtest/gtest.h>

#include <string>

namespace turnpike {
namespace {

TEST(Oom, KnowsTheKernelsWordsForTheWholeMachine) {
    const auto kill = parse_oom(
        "3,1187,5243112345,-;Out of memory: Killed process 4711 (python3) total-vm:68163488kB, "
        "anon-rss:63021416kB, file-rss:2040kB, shmem-rss:0kB, UID:1000 pgtables:124372kB "
        "oom_score_adj:0\n SUBSYSTEM=memory\n");
    ASSERT_TRUE(kill);
    EXPECT_EQ(kill->pid, 4711);
    EXPECT_EQ(kill->since_boot, 5'243'112'345us);
    EXPECT_EQ(kill->line,
              "Out of memory: Killed process 4711 (python3) total-vm:68163488kB, "
              "anon-rss:63021416kB, file-rss:2040kB, shmem-rss:0kB, UID:1000 pgtables:124372kB "
              "oom_score_adj:0");
}

TEST(Oom, KnowsTheKernelsWordsForAControlGroup) {
    const auto kill = parse_oom(
        "3,1190,99,-;Memory cgroup out of memory: Killed process 12 (python3) total-vm:4096kB\n");
    ASSERT_TRUE(kill);
    EXPECT_EQ(kill->pid, 12);
}

TEST(Oom, KnowsTheWordsOfOldKernels) {
    EXPECT_EQ(
        parse_oom("3,1,2,-;Out of memory: Kill process 9 (a) score 5 or sacrifice child")->pid, 9);
    EXPECT_EQ(
        parse_oom("3,1,2,-;Out of memory (oom_kill_allocating_task): Killed process 8 (a)")->pid,
        8);
    EXPECT_EQ(parse_oom("3,1,2,c;Out of memory: Killed process 7, UID 0, (a)")->pid, 7);
}

TEST(Oom, IsNotFoundInOtherLines) {
    for (const std::string record :
         {"", ";", "3", "3,1,2,-", "3,1,2,-;", "x,1,2,-;Out of memory: Killed process 4711 (a)",
          "3,1,-5,-;Out of memory: Killed process 4711 (a)",
          "3,1,99999999999999999999,-;Out of memory: Killed process 4711 (a)",
          "3,1,9223372036854775807,-;Out of memory: Killed process 4711 (a)",
          "6,1,2,-;usb 1-1: new high-speed USB device", "3,1,2,-;Out of memory: Killed process",
          "3,1,2,-;Out of memory: Killed process -3 (a)",
          "3,1,2,-;Out of memory: Killed process 4711x (a)",
          "3,1,2,-;Out of memory: Killed process 99999999999999999999 (a)",
          "3,1,2,-;python3 invoked oom-killer: gfp_mask=0x100cca",
          "3,1,2,-;oom_reaper: reaped process 4711 (python3), now anon-rss:0kB",
          "3,1,2,-;somebody said Out of memory: Killed process 4711 (a)"})
        EXPECT_FALSE(parse_oom(record)) << record;
}

TEST(Oom, IsNotBelievedIfSomebodyElseWroteIt) {
    EXPECT_FALSE(parse_oom("12,1,2,-;Out of memory: Killed process 4711 (a)"))
        << "facility 1 is what writers of /dev/kmsg get";
    EXPECT_TRUE(parse_oom("4,1,2,-;Out of memory: Killed process 4711 (a)"));
}

TEST(Oom, LeavesNoControlsInTheLine) {
    EXPECT_EQ(parse_oom("3,1,2,-;Out of memory: Killed process 5 (\x1b[2Jx)")->line,
              "Out of memory: Killed process 5 (x)");
}

TEST(Oom, FindsNothingAboutAProcessThatNeverExisted) {
    EXPECT_EQ(oom_line_about(0, 1h), "");  // whether or not the log is readable
}

}  // namespace
}  // namespace turnpike
