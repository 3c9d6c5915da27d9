#include "app/checked_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

TEST(CheckedConfig, HasTheLanesOfThisMachine) {
    const Machine machine{.gpus = {{.index = 0, .uuid = "GPU-a"}, {.index = 1, .uuid = "GPU-b"}}};
    const auto checked =
        checked_config(std::nullopt, {.worker = "x {port}"}, [&] { return machine; });
    ASSERT_TRUE(checked);
    EXPECT_EQ(checked->lanes.size(), 2U);
    EXPECT_EQ(checked->machine.gpus, machine.gpus);
    EXPECT_EQ(checked->config.pools.front().settings.lanes, 2U);
}

TEST(CheckedConfig, ListsWhatEveryModuleObjectsToInTheOrderOfTheFile) {
    TemporaryFolder folder;
    folder.write("t.toml",
                 "[pool.a]\nworker = \"x {port}\"\nproof.expect_json = \"{\"\ngpus = [7]\n"
                 "[gate]\nspool = \"/dev/null/x\"\n");
    const auto checked =
        checked_config(folder.file("t.toml"), {}, [] { return Machine{.no_gpus = "none today"}; });
    ASSERT_FALSE(checked);
    std::vector<std::string> lines;
    for (const Mistake& mistake : checked.error())
        lines.push_back(text_of(mistake).substr(folder.file("").size()));
    EXPECT_THAT(lines, ElementsAre(StartsWith("t.toml:3: pool.a.proof.expect_json: "),
                                   "t.toml:4: pool.a.gpus: there is no GPU here: none today",
                                   StartsWith("t.toml:6: gate.spool: /dev/null/x is no folder")));
}

}  // namespace
}  // namespace turnpike
