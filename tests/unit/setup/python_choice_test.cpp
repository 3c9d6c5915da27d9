#include "setup/python_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace turnpike {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A machine on which only these programs exist.
class Pythons {
public:
    Pythons(std::set<std::string> programs, PythonPlaces places)
        : programs_(std::move(programs)), places_(std::move(places)) {}

    /// Returns the choice for /srv/model.py.
    [[nodiscard]] std::string chosen(const std::string& said = "") const {
        WorkerConfig worker;
        worker.python = said;
        worker.model = {.kind = ModelChoice::Kind::python, .path = "/srv/model.py"};
        const auto choice = choose_python(
            worker, places_, [this](const std::string& path) { return programs_.contains(path); });
        if (!choice) return "refused: " + choice.error();
        return choice->program + " (" + choice->why + ")";
    }

private:
    std::set<std::string> programs_;
    PythonPlaces places_;
};

const PythonPlaces all_places{
    .virtual_env = "/venv", .conda_prefix = "/conda", .path = "/usr/local/bin:/usr/bin"};

TEST(Python, IsTheFirstThatIsThere) {
    std::set<std::string> programs{"/venv/bin/python", "/srv/.venv/bin/python", "/conda/bin/python",
                                   "/usr/local/bin/python3", "/usr/bin/python3"};
    const auto first_without = [&](const char* gone) {
        programs.erase(gone);
        return Pythons(programs, all_places).chosen();
    };
    EXPECT_EQ(first_without(""), "/venv/bin/python ($VIRTUAL_ENV)");
    EXPECT_EQ(first_without("/venv/bin/python"),
              "/srv/.venv/bin/python (.venv beside the model; $VIRTUAL_ENV has no Python)");
    EXPECT_EQ(first_without("/srv/.venv/bin/python"),
              "/conda/bin/python ($CONDA_PREFIX; $VIRTUAL_ENV has no Python)");
    EXPECT_EQ(first_without("/conda/bin/python"),
              "/usr/local/bin/python3 (first python3 on the PATH; $VIRTUAL_ENV has no Python; "
              "$CONDA_PREFIX has no Python)");
    EXPECT_THAT(first_without("/usr/local/bin/python3"),
                HasSubstr("/usr/bin/python3 (first python3 on the PATH;"));
    EXPECT_EQ(
        first_without("/usr/bin/python3"),
        "refused: there is no Python for the model: neither /venv/bin/python nor "
        "/srv/.venv/bin/python nor /conda/bin/python nor a python3 on the PATH; name one with "
        "--python");
}

TEST(Python, PlacesThatAreNotSetAreNotTried) {
    EXPECT_EQ(Pythons({"/bin/python", "/bin/python3"}, {.path = "/bin"}).chosen(),
              "/bin/python3 (first python3 on the PATH)");
    EXPECT_THAT(Pythons({}, {}).chosen(),
                AllOf(HasSubstr("neither /srv/.venv/bin/python nor a"), Not(HasSubstr("conda"))));
}

TEST(Python, InARelativeFolderIsNotTaken) {
    const Pythons pythons({"venv/bin/python", "./python3", "/python3", "bin/python3"},
                          {.virtual_env = "venv", .path = ".:bin::"});
    EXPECT_THAT(pythons.chosen(), HasSubstr("refused: "));
}

TEST(Python, ThatIsConfiguredBeatsAllOthers) {
    const Pythons pythons({"/venv/bin/python", "/opt/python", "/usr/bin/python3.11"}, all_places);
    EXPECT_EQ(pythons.chosen("/opt/python"), "/opt/python (as configured)");
    EXPECT_EQ(pythons.chosen("python3.11"), "/usr/bin/python3.11 (as configured)");
    EXPECT_EQ(pythons.chosen("/venv"), "/venv/bin/python (as configured)");
    EXPECT_EQ(Pythons({"/bin/true"}, all_places).chosen("/bin/true"),
              "/bin/true (as configured; is it a Python?)");
}

TEST(Python, OfABrokenVenvBesideTheModelIsReported) {
    EXPECT_EQ(Pythons({"/bin/python3"}, {.path = "/bin", .has_venv = true}).chosen(),
              "/bin/python3 (first python3 on the PATH; .venv beside the model has no Python)");
}

TEST(Python, ThatIsConfiguredAndMissingIsAMistake) {
    const Pythons pythons({"/venv/bin/python", "/usr/bin/python3"}, all_places);
    EXPECT_EQ(pythons.chosen("/opt/python"),
              "refused: /opt/python is not a program that can be run");
    EXPECT_EQ(
        pythons.chosen("python3.11"),
        "refused: there is no python3.11 on the PATH; write ./python3.11 for one in this folder");
}

}  // namespace
}  // namespace turnpike
