#include "setup/config_choice.h"

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
        const auto found = choose_config(choice, folder_.file(""));
        if (!found) return "refused: " + found.error();
        EXPECT_FALSE(found->file && found->model);
        return found->model ? "model " + *found->model : found->file.value_or("none");
    }
    void make_program(const char* name) const {
        folder_.write(name, "");
        std::filesystem::permissions(folder_.file(name), std::filesystem::perms::owner_all);
    }

    TemporaryFolder folder_;
};

TEST_F(ConfigChoices, TakesTheFileOfTheFolder) {
    folder_.write("turnpike.toml", "");
    EXPECT_EQ(chosen({}), folder_.file("turnpike.toml"));
}

TEST_F(ConfigChoices, SayWhatToDoIfThereIsNothingToServe) {
    EXPECT_THAT(chosen({}),
                AllOf(HasSubstr("refused: there is no turnpike.toml and no model.py in "),
                      HasSubstr("turnpike up model.py"), HasSubstr("turnpike up --worker '"),
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

TEST_F(ConfigChoices, LeaveAMissingFileToTheCodeThatReadsIt) {
    EXPECT_EQ(chosen({.said = "missing.toml"}), folder_.file("missing.toml"));
}

TEST_F(ConfigChoices, LookIntoAFolder) {
    std::filesystem::create_directory(folder_.file("site"));
    EXPECT_EQ(chosen({.said = "site"}),
              "refused: the folder site holds no turnpike.toml and no model.py; `turnpike check "
              "--example` prints a configuration");
    folder_.write("site/net.py", "");
    EXPECT_EQ(chosen({.said = "site"}),
              "refused: the folder site holds no turnpike.toml and no model.py; did you mean "
              "site/net.py?");
    folder_.write("site/model.py", "");
    EXPECT_EQ(chosen({.said = "site"}), "model " + folder_.file("site/model.py"));
    folder_.write("site/turnpike.toml", "");
    EXPECT_EQ(chosen({.said = "site"}), folder_.file("site/turnpike.toml"));
}

TEST_F(ConfigChoices, TakeAModelForOne) {
    make_program("worker");
    for (const char* model : {"model.py", "model.py:Digits", "app.py:app", "model.py:", "worker"})
        EXPECT_EQ(chosen({.said = model}), "model " + folder_.file(model));
}

TEST_F(ConfigChoices, TakeTheModelOfTheFolderIfThereIsNoConfiguration) {
    folder_.write("model.py", "");
    EXPECT_EQ(chosen({}), "model " + folder_.file("model.py"));
    EXPECT_EQ(chosen({.has_workers = true}), "none");
    folder_.write("turnpike.toml", "");
    EXPECT_EQ(chosen({}), folder_.file("turnpike.toml"));
}

TEST_F(ConfigChoices, TakeAnExecutableTomlForAConfiguration) {
    make_program("x.toml");
    EXPECT_EQ(chosen({.said = "x.toml"}), folder_.file("x.toml"));
}

TEST_F(ConfigChoices, SayWhatAWordMayBe) {
    folder_.write("plain", "");
    EXPECT_THAT(chosen({.said = "modle"}),
                AllOf(HasSubstr("refused: there is no modle; name a Python file"),
                      HasSubstr("a program, a turnpike.toml, or a folder")));
    EXPECT_THAT(
        chosen({.said = "plain"}),
        AllOf(HasSubstr("refused: plain is neither an executable program nor a .py or .toml file"),
              HasSubstr("a program, a turnpike.toml, or a folder")));
}

TEST_F(ConfigChoices, AskAboutAWordThatIsNearAModel) {
    std::filesystem::create_directory(folder_.file("sub"));
    folder_.write("digits.py", "");
    folder_.write("sub/model.py", "");
    const auto asked = [this](const char* said) { return chosen({.said = said}); };
    EXPECT_EQ(asked("digits"), "refused: there is no digits; did you mean digits.py?");
    EXPECT_EQ(asked("digits:Net"), "refused: there is no digits:Net; did you mean digits.py:Net?");
    EXPECT_EQ(asked("sub.model:Net"),
              "refused: there is no sub.model:Net; did you mean sub/model.py:Net?");
    EXPECT_EQ(asked("sub/model"), "refused: there is no sub/model; did you mean sub/model.py?");
    EXPECT_THAT(asked("else/model"), HasSubstr("there is no else/model; name a Python file"));
    EXPECT_THAT(chosen({}), HasSubstr("; did you mean digits.py?\nName a model"));
    folder_.write("digits.ipynb", "");
    EXPECT_THAT(asked("digits.ipynb"), HasSubstr("digits.ipynb is a notebook"));
}

TEST_F(ConfigChoices, SayHowToWriteAUrl) {
    EXPECT_THAT(chosen({.said = "http://127.0.0.1:8001"}), HasSubstr("write --attach before"));
}

}  // namespace
}  // namespace turnpike
