#include "setup/checked_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

std::expected<PythonChoice, std::string> no_python(const WorkerConfig&) {
    return std::unexpected("none today");
}

TEST(CheckedConfig, HasTheLanesOfThisMachine) {
    const Machine machine{.gpus = {{.index = 0, .uuid = "GPU-a"}, {.index = 1, .uuid = "GPU-b"}}};
    const auto checked =
        checked_config(std::nullopt, {.worker = "x {port}"}, [&] { return machine; }, no_python);
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
    const auto checked = checked_config(
        folder.file("t.toml"), {}, [] { return Machine{.no_gpus = "none today"}; }, no_python);
    ASSERT_FALSE(checked);
    std::vector<std::string> lines;
    for (const Mistake& mistake : checked.error())
        lines.push_back(text_of(mistake).substr(folder.file("").size()));
    EXPECT_THAT(lines,
                ElementsAre(StartsWith("t.toml:3: pool.a.proof.expect_json: "),
                            "t.toml:4: pool.a.gpus: there is no GPU here: none today",
                            StartsWith("t.toml:6: gate.spool: /dev/null/x is not a folder")));
}

TEST(CheckedConfig, SaysWhichPythonAModelRunsWith) {
    TemporaryFolder folder;
    folder.write("model.py", "");
    const auto find_python = [&](const WorkerConfig& worker) {
        EXPECT_EQ(worker.model.path, folder.file("model.py"));
        return PythonChoice{.program = "/bin/python3", .why = "it is there"};
    };
    const auto checked = checked_config(
        std::nullopt, {.model = folder.file("model.py")}, [] { return Machine{}; }, find_python);
    ASSERT_TRUE(checked);
    EXPECT_EQ(checked->config.pools.front().worker.python, "/bin/python3");
    EXPECT_THAT(checked->python_why, ElementsAre("it is there"));
}

TEST(CheckedConfig, NamesTheLineOfAPythonThatIsNotThere) {
    TemporaryFolder folder;
    folder.write("model.py", "");
    folder.write("t.toml",
                 "[pool.a]\nmodel = \"model.py\"\n"
                 "[pool.b]\nmodel = \"model.py\"\npython = \"python9\"\n"
                 "[pool.c]\nattach = [\"http://h:1\"]\n");
    const auto checked =
        checked_config(folder.file("t.toml"), {}, [] { return Machine{}; }, no_python);
    ASSERT_FALSE(checked);
    std::vector<std::string> lines;
    for (const Mistake& mistake : checked.error())
        lines.push_back(text_of(mistake).substr(folder.file("").size()));
    EXPECT_THAT(lines, ElementsAre("t.toml:2: pool.a.model: none today",
                                   "t.toml:5: pool.b.python: none today"));
}

}  // namespace
}  // namespace turnpike
