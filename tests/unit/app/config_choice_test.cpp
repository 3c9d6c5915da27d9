#include "app/config_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ConfigChoices : public testing::Test {
protected:
    std::string chosen(const ConfigChoice& choice) const {
        const auto path = choose_config(choice, folder_.file(""));
        if (!path) return "refused: " + path.error();
        return path->value_or("none");
    }

    TemporaryFolder folder_;
};

TEST_F(ConfigChoices, TakesTheFileOfTheFolder) {
    folder_.write("turnpike.toml", "");
    EXPECT_EQ(chosen({}), folder_.file("turnpike.toml"));
}

TEST_F(ConfigChoices, SayWhatToDoIfThereIsNothingToServe) {
    EXPECT_THAT(chosen({}), AllOf(HasSubstr("refused: there is no turnpike.toml in "),
                                  HasSubstr("turnpike up --worker '"),
                                  HasSubstr("turnpike up --attach http://")));
}

TEST_F(ConfigChoices, NeedNoFileWithWorkersInFlags) {
    folder_.write("turnpike.toml", "");
    EXPECT_EQ(chosen(config_choice({}, {.attach = {"http://h:1"}})), "none");
    EXPECT_EQ(chosen(config_choice({}, {.worker = "x {port}"})), "none");
    EXPECT_EQ(chosen(config_choice({}, {.gpus = "0", .slots = 2})), folder_.file("turnpike.toml"));
}

TEST_F(ConfigChoices, TakeTheFileThatWasNamed) {
    folder_.write("turnpike.toml", "");
    folder_.write("other.toml", "");
    EXPECT_EQ(chosen({.said = "other.toml"}), folder_.file("other.toml"));
    EXPECT_EQ(chosen({.said = "other.toml", .has_workers = true}), folder_.file("other.toml"));
}

TEST_F(ConfigChoices, LeaveAMissingFileToWhoeverReadsIt) {
    EXPECT_EQ(chosen({.said = "missing.toml"}), folder_.file("missing.toml"));
}

TEST_F(ConfigChoices, LookIntoAFolder) {
    std::filesystem::create_directory(folder_.file("site"));
    EXPECT_EQ(chosen({.said = "site"}),
              "refused: the folder site holds no turnpike.toml; `turnpike check --example` prints "
              "one");
    folder_.write("site/turnpike.toml", "");
    EXPECT_EQ(chosen({.said = "site"}), folder_.file("site/turnpike.toml"));
}

TEST_F(ConfigChoices, RefuseModelsThatThisVersionCannotStart) {
    folder_.write("worker", "#!/bin/sh\n");
    std::filesystem::permissions(folder_.file("worker"), std::filesystem::perms::owner_all);
    for (const char* model : {"model.py", "model.py:Digits", "app.py:app", "worker"})
        EXPECT_THAT(chosen({.said = model}),
                    AllOf(HasSubstr("not supported yet in this version"), HasSubstr("--worker")));
}

TEST_F(ConfigChoices, TakeAnExecutableTomlForAConfiguration) {
    folder_.write("x.toml", "");
    std::filesystem::permissions(folder_.file("x.toml"), std::filesystem::perms::owner_all);
    EXPECT_EQ(chosen({.said = "x.toml"}), folder_.file("x.toml"));
}

TEST_F(ConfigChoices, SayHowToWriteAUrl) {
    EXPECT_THAT(chosen({.said = "http://127.0.0.1:8001"}), HasSubstr("write --attach before"));
}

}  // namespace
}  // namespace turnpike
