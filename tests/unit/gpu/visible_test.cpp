#include "gpu/visible.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace turnpike {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<Gpu> four{{.index = 0, .uuid = "GPU-aa11"},
                            {.index = 1, .uuid = "GPU-aa22"},
                            {.index = 2, .uuid = "GPU-bb33"},
                            {.index = 3, .uuid = "GPU-cc44"}};

std::vector<std::string> uuids_of(const Machine& machine) {
    std::vector<std::string> uuids;
    for (const Gpu& gpu : machine.gpus) uuids.push_back(gpu.uuid);
    return uuids;
}

std::vector<std::string> seen_with(const std::string& visible) {
    return uuids_of(visible_machine(four, visible));
}

TEST(VisibleDevices, UnsetShowsAll) {
    const Machine machine = visible_machine(four, std::nullopt);
    EXPECT_EQ(machine.gpus, four);
    EXPECT_THAT(machine.no_gpus + machine.remark, IsEmpty());
}

TEST(VisibleDevices, ThatHideAllGpusAreNamedAsTheReason) {
    for (const char* none : {"", "-1", "NoDevFiles", " "}) {
        const Machine machine = visible_machine(four, none);
        EXPECT_THAT(machine.gpus, IsEmpty()) << none;
        EXPECT_THAT(machine.no_gpus, HasSubstr("CUDA_VISIBLE_DEVICES=\"" + std::string(none)));
        EXPECT_THAT(machine.remark, IsEmpty());
    }
}

TEST(VisibleDevices, KeepTheOrderOfTheList) {
    EXPECT_THAT(seen_with("3,0, 1"), ElementsAre("GPU-cc44", "GPU-aa11", "GPU-aa22"));
    EXPECT_THAT(seen_with("0"), ElementsAre("GPU-aa11"));
}

TEST(VisibleDevices, KeepTheIndexThatTheMachineGives) {
    EXPECT_EQ(visible_machine(four, "2").gpus.at(0).index, 2U);
}

TEST(VisibleDevices, TakeUuidsAndUniqueBeginningsOfThem) {
    EXPECT_THAT(seen_with("GPU-bb33,GPU-c"), ElementsAre("GPU-bb33", "GPU-cc44"));
}

TEST(VisibleDevices, ABeginningThatMatchesTwoUuidsNamesNone) {
    const Machine machine = visible_machine(four, "3,GPU-aa,0");
    EXPECT_THAT(uuids_of(machine), ElementsAre("GPU-cc44"));
    EXPECT_THAT(machine.remark, HasSubstr("\"GPU-aa\" names no GPU"));
}

TEST(VisibleDevices, TheFirstInvalidEntryHidesItselfAndAllAfterIt) {
    for (const char* invalid : {"4", "-1", "", "x", "1x", "99999999999999", "gpu-aa11", "aa11"}) {
        const Machine machine = visible_machine(four, "1," + std::string(invalid) + ",0");
        EXPECT_THAT(uuids_of(machine), ElementsAre("GPU-aa22")) << invalid;
        EXPECT_THAT(machine.remark, HasSubstr("\"" + std::string(invalid) + "\" names no GPU"));
        EXPECT_THAT(machine.no_gpus, IsEmpty());
    }
}

TEST(VisibleDevices, ATrailingCommaIsAnInvalidEntry) {
    EXPECT_THAT(seen_with("1,"), ElementsAre("GPU-aa22"));
}

TEST(VisibleDevices, DropDuplicatesHoweverTheyAreNamed) {
    EXPECT_THAT(seen_with("1,1,GPU-aa22,0"), ElementsAre("GPU-aa22", "GPU-aa11"));
}

TEST(VisibleDevices, PassNamesOfMigDevicesThrough) {
    const Machine machine = visible_machine(four, "MIG-77,MIG-GPU-aa11/1/0");
    EXPECT_THAT(uuids_of(machine), ElementsAre("MIG-77", "MIG-GPU-aa11/1/0"));
    EXPECT_EQ(machine.gpus.at(0).index, std::nullopt);
}

}  // namespace
}  // namespace turnpike
