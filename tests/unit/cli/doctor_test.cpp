#include "cli/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace turnpike {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using enum Finding::Mark;

constexpr Bytes gib(std::uint64_t count) { return {count * gibibyte.count}; }

/// A machine without problems.
MachineFacts healthy() {
    MachineFacts facts;
    facts.cuda = "CUDA 12.4, 1 device";
    facts.driver_version = "580.65";
    facts.gpus = {{.gpu = {.index = 0, .uuid = "GPU-1", .name = "H200", .memory_total = gib(141)},
                   .memory_used = Bytes{}}};
    facts.machine.gpus = {facts.gpus[0].gpu};
    facts.shared_memory = {.path = "/dev/shm", .size = gib(8), .free = gib(8), .is_writable = true};
    facts.spool = {.path = "/var/tmp", .size = gib(9), .free = gib(9), .is_writable = true};
    facts.py_spy = "/usr/bin/py-spy";
    return facts;
}

auto finding(Finding::Mark mark, const std::string& what, const std::string& advice) {
    return AllOf(Field(&Finding::mark, mark), Field(&Finding::what, HasSubstr(what)),
                 Field(&Finding::advice, HasSubstr(advice)));
}

/// Expects exactly one finding that is not ok: this one.
void expect_only(const MachineFacts& facts, Finding::Mark mark, const std::string& what,
                 const std::string& advice) {
    auto findings = findings_about(facts);
    std::erase_if(findings, [](const Finding& each) { return each.mark == ok; });
    EXPECT_THAT(findings, ::testing::ElementsAre(finding(mark, what, advice)));
}

TEST(Doctor, HasNothingToSayAboutAHealthyMachine) {
    const auto findings = findings_about(healthy());
    EXPECT_THAT(findings,
                Each(AllOf(Field(&Finding::mark, ok), Field(&Finding::advice, IsEmpty()))));
    EXPECT_THAT(doctor_text(findings, {}), ::testing::EndsWith("\nall is well\n"));
}

TEST(Doctor, IsContentWithAMachineThatHasNoGpu) {
    MachineFacts facts = healthy();
    facts.gpus.clear();
    facts.machine = {.gpus = {}, .no_gpus = "there is no driver", .remark = {}};
    facts.cuda = std::unexpected("there is no libcuda.so.1");
    const auto findings = findings_about(facts);
    EXPECT_THAT(findings, Each(Field(&Finding::mark, ok)));
    EXPECT_THAT(findings, Contains(finding(ok,
                                           "no GPU: there is no driver; `up` will serve on four "
                                           "CPU lanes",
                                           "")));
    facts.nvidia_cards = 1;
    expect_only(facts, warn, "there is an NVIDIA card on the PCI bus", "install NVIDIA's driver");
}

TEST(Doctor, WarnsOfGpusThatTheCallerHides) {
    MachineFacts facts = healthy();
    facts.machine = {.gpus = {}, .no_gpus = "CUDA_VISIBLE_DEVICES=\"\" hides them", .remark = {}};
    expect_only(facts, warn, "hides them", "unset CUDA_VISIBLE_DEVICES");
    facts = healthy();
    facts.machine.remark = "\"9\" names no GPU";
    expect_only(facts, warn, "\"9\" names no GPU", "correct CUDA_VISIBLE_DEVICES");
}

TEST(Doctor, CallsAGpuBadIfItCanNotBeRead) {
    MachineFacts facts = healthy();
    facts.gpus[0].memory_used = std::nullopt;
    facts.gpus[0].trouble = "the GPU is lost";
    expect_only(facts, bad, "GPU 0  H200  GPU-1  the GPU is lost", "reboot");
}

TEST(Doctor, CallsCudaBadIfItDoesNotWorkAlthoughThereAreGpus) {
    MachineFacts facts = healthy();
    facts.cuda = std::unexpected("CUDA does not start: error 3");
    expect_only(facts, bad, "error 3", "no worker can use a GPU");
}

TEST(Doctor, WarnsOfProcessesThatHoldMemoryButNotOfOurWorkers) {
    MachineFacts facts = healthy();
    facts.gpus[0].memory_used = gib(3);
    facts.gpus[0].holders = {
        {.pid = 7, .user = "bob", .command = "python train.py", .memory = gib(2)},
        {.pid = 8, .user = "me", .command = "worker", .memory = gib(1), .is_of_a_gate = true}};
    expect_only(facts, warn, "GPU 0: pid 7 of bob holds 2.0 GiB: python train.py", "kill 7");
    EXPECT_THAT(findings_about(facts), Contains(finding(ok, "pid 8 of me holds 1.0 GiB", "")));
}

TEST(Doctor, WarnsOfMemoryThatBelongsToNoProcess) {
    MachineFacts facts = healthy();
    facts.gpus[0].memory_used = gib(16);
    expect_only(facts, warn, "GPU 0: 16.0 GiB are in use, but belong to no process", "fuser");
}

TEST(Doctor, WarnsOfNarrowLimits) {
    MachineFacts facts = healthy();
    facts.limits.open_files = 1024;
    expect_only(facts, warn, "open files: 1024", "ulimit -Hn");
    facts = healthy();
    facts.limits.processes = 100;
    expect_only(facts, warn, "processes of this user: 100", "ulimit -Hu");
    facts = healthy();
    facts.shared_memory.size = Bytes{64 * mebibyte.count};
    expect_only(facts, warn, "/dev/shm: 64 MiB", "--shm-size");
    facts.shared_memory.size = std::nullopt;
    expect_only(facts, warn, "no /dev/shm", "mount");
}

TEST(Doctor, JudgesTheSpool) {
    MachineFacts facts = healthy();
    facts.spool.free = Bytes{5 * mebibyte.count};
    expect_only(facts, warn, "/var/tmp: 5 MiB free", "make room");
    facts = healthy();
    facts.spool.is_in_memory = true;
    expect_only(facts, warn, "tmpfs", "gate.spool");
    facts.spool.is_writable = false;
    expect_only(facts, bad, "/var/tmp can't be written", "gate.spool");
}

TEST(Doctor, WarnsOfMissingTools) {
    MachineFacts facts = healthy();
    facts.kernel_log_trouble = "Operation not permitted";
    expect_only(facts, warn, "Operation not permitted", "dmesg_restrict");
    facts = healthy();
    facts.py_spy.clear();
    expect_only(facts, warn, "py-spy", "pip install py-spy");
}

TEST(Doctor, WarnsOfLeftoversAndSanitizesTheirNames) {
    MachineFacts facts = healthy();
    facts.leftovers = {{.id = {.pid = 9}, .folder = "/run/gate", .command = "evil\x1b[2J"}};
    expect_only(facts, warn, "pid 9 was left behind by the gate of /run/gate: evil?", "kill -9 9");
    EXPECT_THAT(doctor_text(findings_about(facts), {}), Not(HasSubstr("\x1b")));
}

TEST(Doctor, WritesAMarkForEachFindingAndAdviceBelowIt) {
    const std::vector<Finding> findings{{ok, "a", "fine", ""}, {bad, "b", "broken", "repair it"}};
    EXPECT_EQ(doctor_text(findings, {}),
              "a\n"
              "  ok    fine\n"
              "\n"
              "b\n"
              "  bad   broken\n"
              "        repair it\n"
              "\n"
              "1 problem, 0 warnings\n");
}

}  // namespace
}  // namespace turnpike
