#include "gpu/cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "gpu/in_child.h"
#include "tests/unit/gpu/fake_gpus.h"

namespace turnpike {
namespace {

using ::testing::HasSubstr;

TEST(Cuda, ReportsItsVersionAndHowManyDevices) {
    const FakeGpus one(1);
    EXPECT_EQ(cuda_state(), "CUDA 12.4, 1 device");
    const FakeGpus four(4);
    EXPECT_EQ(cuda_state(), "CUDA 12.4, 4 devices");
}

TEST(Cuda, SaysWhyItDoesNotStart) {
    for (const auto& [code, words] : {std::pair{"100", "no device (100)"},
                                      {"803", "different versions (803)"},
                                      {"999", "unknown error (999)"},
                                      {"46", "error 46"},
                                      {"-1", "it crashed (signal 6)"}}) {
        const FakeGpus fake(4);
        fake.set("cuda-init", code);
        const auto state = cuda_state();
        ASSERT_FALSE(state) << code;
        EXPECT_THAT(state.error(), HasSubstr(words));
    }
}

TEST(InChild, ReturnsTheResultOfTheWork) {
    const std::string large(300'000, 'x');  // more than a pipe holds
    EXPECT_EQ(in_child([&] { return large; }, 30s), large);
}

TEST(InChild, DoesTheWorkInAnotherProcess) {
    const auto pid = in_child([] { return std::to_string(::getpid()); }, 30s);
    ASSERT_TRUE(pid);
    EXPECT_NE(*pid, std::to_string(::getpid()));
}

TEST(InChild, SaysThatItCrashed) {
    const auto crashed = in_child(
        []() -> std::string {
            ::signal(SIGSEGV, SIG_DFL);
            ::raise(SIGSEGV);
            return "";
        },
        30s);
    EXPECT_EQ(crashed.error(), "it crashed (signal 11)");
}

TEST(InChild, EndsWorkThatHangs) {
    const auto hung = in_child(
        []() -> std::string {
            while (true) ::pause();
        },
        1ms);
    EXPECT_EQ(hung.error(), "it did not answer within 0 s");
}

}  // namespace
}  // namespace turnpike
