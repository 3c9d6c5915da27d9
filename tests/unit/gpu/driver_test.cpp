#include "gpu/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "tests/unit/gpu/fake_gpus.h"

namespace turnpike {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Bytes mib(std::uint64_t count) { return {count * mebibyte.count}; }

/// Returns the pid of a process that has ended.
pid_t dead_pid() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    return child;
}

TEST(GpuDriver, ListsEveryGpuByItsIndex) {
    for (const std::size_t count : {1, 4, 8}) {
        const FakeGpus fake(count);
        const auto driver = GpuDriver::open();
        ASSERT_TRUE(driver) << driver.error();
        EXPECT_EQ(driver->version(), "fake 1.0");
        EXPECT_TRUE(driver->can_look());
        EXPECT_THAT(driver->troubles(), IsEmpty());
        ASSERT_EQ(driver->gpus().size(), count);
        EXPECT_EQ(driver->gpus().back(),
                  (Gpu{.index = count - 1,
                       .uuid = FakeGpus::uuid(count - 1),
                       .name = "Fake GPU (Turnpike tests)",
                       .memory_total = mib(81920),
                       .bus_id = fmt::format("00000000:{:02X}:00.0", count - 1)}));
    }
}

TEST(GpuDriver, SaysThatADriverFindsNoGpu) {
    const FakeGpus fake(0);
    const auto driver = GpuDriver::open();
    ASSERT_FALSE(driver);
    EXPECT_EQ(driver.error(), "the NVIDIA driver works and finds no GPU");
    const Machine machine = machine_from(driver, "0");
    EXPECT_EQ(machine.no_gpus, driver.error());
}

TEST(GpuDriver, NamesTheErrorThatKeepsItFromStarting) {
    for (const auto& [code, words] : {std::pair{"9", "not loaded"},
                                      {"18", "different versions"},
                                      {"4", "no permission"},
                                      {"999", "an error of the fake driver (999)"}}) {
        const FakeGpus fake(4);
        fake.set("init", code);
        fake.set("cuda-init", "999");
        const auto driver = GpuDriver::open();
        ASSERT_FALSE(driver) << code;
        EXPECT_THAT(driver.error(), HasSubstr(words));
        EXPECT_THAT(driver.error(), HasSubstr(code));
    }
}

TEST(GpuDriver, LetsCudaListTheGpusThatNvmlDoesNot) {
    const FakeGpus fake(4);
    fake.set("init", "999");
    ::setenv("CUDA_VISIBLE_DEVICES", "2", 1);  // hides the others from CUDA
    const auto driver = GpuDriver::open();
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    ASSERT_TRUE(driver) << driver.error();
    EXPECT_EQ(driver->version(), "CUDA 12.4");
    ASSERT_EQ(driver->gpus().size(), 4U);
    EXPECT_EQ(driver->gpus()[3], (Gpu{.index = 3,
                                      .uuid = FakeGpus::uuid(3),
                                      .name = "Fake GPU (Turnpike tests)",
                                      .memory_total = mib(81920),
                                      .bus_id = "0000:03:00.0"}));
    EXPECT_THAT(driver->troubles(), ElementsAre(HasSubstr("not known who holds memory")));
    EXPECT_FALSE(driver->can_look());
    EXPECT_EQ(driver->look(FakeGpus::uuid(0)).error(), GpuFailure::unknown);
    EXPECT_EQ(machine_from(driver, "2").gpus.at(0).uuid, FakeGpus::uuid(2));
}

TEST(GpuDriver, ServesOnTheOthersWhenOneIsLostAtTheStart) {
    const FakeGpus fake(3);
    fake.set("lost-" + FakeGpus::uuid(1), "");
    const auto driver = GpuDriver::open();
    ASSERT_TRUE(driver) << driver.error();
    ASSERT_EQ(driver->gpus().size(), 2U);
    EXPECT_EQ(driver->gpus()[1].index, 2U);
    EXPECT_THAT(driver->troubles(), ElementsAre(HasSubstr("GPU 1 can't be used: it fell off")));
}

TEST(GpuDriver, LooksAtMemoryAndWhoHoldsIt) {
    const FakeGpus fake(2);
    const auto driver = GpuDriver::open();
    ASSERT_TRUE(driver);
    fake.hold(1, ::getpid(), 300);
    fake.hold(1, ::getppid(), 50);
    const auto usage = driver->look(FakeGpus::uuid(1));
    ASSERT_TRUE(usage);
    EXPECT_EQ(usage->memory_used, mib(350));
    EXPECT_THAT(usage->processes,  // MPS lists them, too; duplicates are removed
                ::testing::UnorderedElementsAre(GpuProcess{.pid = ::getpid(), .memory = mib(300)},
                                                GpuProcess{.pid = ::getppid(), .memory = mib(50)}));
    EXPECT_EQ(driver->look(FakeGpus::uuid(0)), GpuUsage{});
}

TEST(GpuDriver, ListsMoreProcessesThanItExpected) {
    const FakeGpus fake(1);
    fake.set("sticky-" + FakeGpus::uuid(0), "");
    for (int pid = 1; pid <= 200; ++pid) fake.hold(0, pid, 1);
    const auto driver = GpuDriver::open();
    ASSERT_TRUE(driver);
    const auto usage = driver->look(FakeGpus::uuid(0));
    ASSERT_TRUE(usage);
    ASSERT_EQ(usage->processes.size(), 200U);
    EXPECT_EQ(usage->processes.back().pid, 200);
}

TEST(GpuDriver, SeesTheMemoryOfADeadProcessOnlyWhileTheDriverLags) {
    const FakeGpus fake(1);
    const auto driver = GpuDriver::open();
    ASSERT_TRUE(driver);
    fake.hold(0, dead_pid(), 100);
    EXPECT_EQ(driver->look(FakeGpus::uuid(0)), GpuUsage{});
    fake.set("sticky-" + FakeGpus::uuid(0), "");
    EXPECT_EQ(driver->look(FakeGpus::uuid(0))->memory_used, mib(100));
}

TEST(GpuDriver, SaysThatAGpuIsLostIfItFellOffNeedsAResetOrIsGone) {
    const FakeGpus fake(3);
    const auto driver = GpuDriver::open();
    ASSERT_TRUE(driver);
    fake.set("lost-" + FakeGpus::uuid(0), "");
    fake.set("lost-" + FakeGpus::uuid(1), "16");
    fake.set("gpus", FakeGpus::uuid(0) + " 1\n" + FakeGpus::uuid(1) + " 1\n");
    for (const std::size_t index : {0, 1, 2})
        EXPECT_EQ(driver->look(FakeGpus::uuid(index)).error(), GpuFailure::lost) << index;
}

TEST(GpuDriver, DoesNotSayThatAGpuIsLostIfItCanNotAnswerNow) {
    const FakeGpus fake(1);
    const auto driver = GpuDriver::open();
    ASSERT_TRUE(driver);
    fake.set("lost-" + FakeGpus::uuid(0), "999");
    EXPECT_EQ(driver->look(FakeGpus::uuid(0)).error(), GpuFailure::unknown);
    EXPECT_EQ(driver->look("GPU-never-seen").error(), GpuFailure::unknown);
}

}  // namespace
}  // namespace turnpike
