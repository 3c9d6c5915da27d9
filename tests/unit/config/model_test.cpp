// Pools with a model: their keys, the values that follow from them, and mistakes.
#include "config/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "core/engine.h"
#include "tests/unit/config/mistakes.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using Kind = ModelChoice::Kind;
using test::lines_of;
using test::mistakes_in;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// Returns a pool with a Python model, followed by `lines` from line 3. The model's file need not
/// exist.
std::string after_model(std::string_view lines) {
    return std::string("[pool.a]\nmodel = \"m.py\"\n").append(lines);
}

PoolConfig parsed(const std::string& text) {
    auto config = parse_config(text, "/conf/t.toml");
    if (config) return std::move(config->pools.front());
    for (const std::string& line : lines_of(config)) ADD_FAILURE() << line;
    return {};
}

std::vector<std::string> mistakes_after_model(std::string_view lines) {
    return mistakes_in(after_model(lines));
}

/// A temporary folder with model.py, a program, and a turnpike.toml.
class ModelFiles : public testing::Test {
protected:
    void SetUp() override {
        write("model.py", "");
        write("program", "");
        EXPECT_EQ(::chmod(in("program").c_str(), 0700), 0);
        write("plain", "");
        std::filesystem::create_directory(in("folder"));
    }
    [[nodiscard]] std::string in(const std::string& name) const { return folder_.file(name); }
    void write(const std::string& name, std::string_view text) const {
        std::ofstream(in(name), std::ios::binary) << text;
    }
    [[nodiscard]] ConfigOrMistakes with(std::string_view pool, const Flags& flags = {}) const {
        write("t.toml", "[pool.a]\n" + std::string(pool));
        return make_config(in("t.toml"), flags);
    }

private:
    TemporaryFolder folder_;
};

// ── what a model is ──────────────────────────────────────────────────────────────────────────────

TEST(Model, IsAPythonFileOrAProgram) {
    const auto is = [](const char* text, Kind kind, const char* path, const char* name) {
        EXPECT_EQ(parse_model(text), (ModelChoice{kind, path, name, text})) << text;
    };
    is("model.py", Kind::python, "model.py", "");
    is("a/b/model.py:Digits", Kind::python, "a/b/model.py", "Digits");
    is("model.py:_x9", Kind::python, "model.py", "_x9");
    is("odd:name.py", Kind::python, "odd:name.py", "");
    is("odd:name.py:M", Kind::python, "odd:name.py", "M");
    is("./worker", Kind::program, "./worker", "");
    is("worker:2", Kind::program, "worker:2", "");
    is("model.python", Kind::program, "model.python", "");
    EXPECT_EQ(parse_model(""), ModelChoice{});
}

TEST(Model, HasAnIdentifierAfterItsColon) {
    for (const char* text : {"m.py:", "m.py:9a", "m.py:a.b", "m.py:a b", "m.py:a()"})
        EXPECT_THAT(parse_model(text).error(), HasSubstr("after the colon")) << text;
    EXPECT_TRUE(parse_model("m.py:Größe"));
}

TEST(Model, IsOneLineOfBoundedLength) {
    EXPECT_THAT(parse_model("m\n.py").error(), HasSubstr("control character"));
    EXPECT_THAT(parse_model(std::string(4096, 'x') + ".py").error(), HasSubstr("longer than 4KiB"));
}

TEST(Model, ThatIsNotThereMayBeNearAnother) {
    const TemporaryFolder folder;
    folder.write("model.py", "");
    folder.write("train.py", "");
    folder.write("notes.txt", "");
    EXPECT_EQ(python_file_near(folder.file("modle.py")), folder.file("model.py"));
    EXPECT_EQ(python_file_near(folder.file("train")), folder.file("train.py"));
    EXPECT_EQ(python_file_near(folder.file("notes")), "");
    EXPECT_EQ(python_file_near(folder.file("nowhere/model.py")), "");
    const ModelChoice model{.kind = Kind::python, .path = folder.file("Model.py")};
    EXPECT_THAT(problem_with_file(model),
                HasSubstr("did you mean " + folder.file("model.py") + "?"));
}

// ── what the keys say ────────────────────────────────────────────────────────────────────────────

TEST(ModelPool, LeavesSlotsAndBatchToTheModel) {
    const PoolConfig pool = parsed(after_model(""));
    EXPECT_TRUE(pool.is_native());
    EXPECT_TRUE(pool.is_started());
    EXPECT_EQ(pool.worker,
              (WorkerConfig{
                  .model = {.kind = Kind::python, .path = "/conf/m.py", .name = "", .text = "m.py"},
                  .pin = Pin::uuid}));
    EXPECT_EQ(pool.settings.slots, 1U);
    EXPECT_EQ(pool.settings.batch, 1U);
    EXPECT_EQ(pool.settings.cancel, CancelPolicy::close);
    EXPECT_EQ(pool.settings.ownership, Ownership::owned);
    EXPECT_EQ(pool.errors, ErrorsShown::to_loopback);
}

TEST(ModelPool, IsAsTheFileSays) {
    const PoolConfig pool = parsed(
        "[pool.a]\nmodel = \"../x/m.py:D\"\npython = \"env/bin/python\"\nslots = 2\n"
        "batch = 16\nerrors = \"full\"\npin = \"index\"\ncancel = \"finish\"\n"
        "aside = [\"GET /docs\"]\nlanes = 3\nenv = { A = \"b\" }\n");
    EXPECT_EQ(pool.worker.model.path, "/x/m.py");
    EXPECT_EQ(pool.worker.model.name, "D");
    EXPECT_EQ(pool.worker.model.text, "../x/m.py:D");
    EXPECT_EQ(pool.worker.python, "/conf/env/bin/python");
    EXPECT_EQ(pool.worker.slots_configured, 2);
    EXPECT_EQ(pool.worker.batch_configured, 16);
    EXPECT_EQ(pool.settings.slots, 2U);
    EXPECT_EQ(pool.settings.batch, 16U);
    EXPECT_EQ(pool.worker.pin, Pin::index);
    EXPECT_EQ(pool.settings.cancel, CancelPolicy::finish);
    EXPECT_EQ(pool.errors, ErrorsShown::full);
}

TEST(ModelPool, SaysHowItIsReloaded) {
    const PoolConfig quiet = parsed(after_model(""));
    EXPECT_EQ(quiet.worker.reload, ReloadChoice::automatic);
    EXPECT_FALSE(quiet.worker.watch);
    EXPECT_TRUE(quiet.worker.warm);
    EXPECT_THAT(quiet.worker.preload, IsEmpty());
    const PoolConfig said =
        parsed(after_model("reload = \"in_place\"\nwatch = true\nwarm = false\n"
                           "preload = [\"torch\", \"_a.b2.C\"]\n"));
    EXPECT_EQ(said.worker.reload, ReloadChoice::in_place);
    EXPECT_TRUE(said.worker.watch);
    EXPECT_FALSE(said.worker.warm);
    EXPECT_THAT(said.worker.preload, ElementsAre("torch", "_a.b2.C"));
    EXPECT_EQ(parsed(test::after_started("reload = \"beside\"")).worker.reload,
              ReloadChoice::beside);
    EXPECT_EQ(parsed(test::after_started("reload = \"auto\"")).worker.reload,
              ReloadChoice::automatic);
}

TEST(ModelPool, MaySayWhatIsTheDefaultAnyway) {
    const PoolConfig pool = parsed(after_model("slots = 1\nbatch = 0\npython = \"\"\n"));
    EXPECT_EQ(pool.worker.slots_configured, 1) << "configured, so the model does not decide";
    EXPECT_EQ(pool.worker.batch_configured, 0);
    EXPECT_EQ(pool.worker.python, "");
}

TEST(ModelPool, LooksANameOfPythonUpLater) {
    EXPECT_EQ(parsed(after_model("python = \"python3.11\"")).worker.python, "python3.11");
}

TEST(ModelPool, MayHaveAProof) {
    const PoolConfig pool =
        parsed(after_model("[pool.a.proof]\nbody = \"[1]\"\nexpect_json = \"1\""));
    EXPECT_EQ(pool.settings.proof, ProofKind::fixed);
    EXPECT_EQ(pool.proof.path, "/predict");
}

TEST(ModelPool, IsAcceptedByTheEngine) {
    for (const char* lines : {"", "cancel = \"kill\"", "slots = 1024\nbatch = 1024"}) {
        const auto config = parse_config(after_model(lines), "t.toml");
        ASSERT_THAT(lines_of(config), IsEmpty()) << lines;
        const Engine engine(engine_settings(*config, 1));  // CHECKs its settings
        EXPECT_EQ(engine.next_deadline(), never);
    }
}

// ── mistakes ─────────────────────────────────────────────────────────────────────────────────────

TEST(ModelPoolMistakes, AreAllToldAtOnceWithTheirLines) {
    EXPECT_THAT(
        mistakes_in("[pool.a]\nmodel = \"m.py:\"\nbatch = 1025\nerrors = \"all\"\n"
                    "python = \"a\\nb\"\nmodell = 1\n"),
        ElementsAre(StartsWith("t.toml:2: pool.a.model: \"m.py:\" must have the name"),
                    "t.toml:3: pool.a.batch: must be 0 to 1024",
                    "t.toml:4: pool.a.errors: \"all\" must be \"loopback\" or \"full\"",
                    StartsWith("t.toml:5: pool.a.python: \"a?b\" has a line break"),
                    StartsWith("t.toml:6: pool.a.modell: unknown key; did you mean model")));
}

TEST(ModelPoolMistakes, APoolHasOneKindOfWorkers) {
    EXPECT_THAT(mistakes_after_model("worker = \"x {port}\""),
                ElementsAre(AllOf(StartsWith("t.toml:2: pool.a.model: a pool has either a model"),
                                  HasSubstr("this one has model and worker"))));
    EXPECT_THAT(mistakes_after_model("attach = [\"http://h:1\"]"),
                ElementsAre(HasSubstr("this one has model and attach")));
    EXPECT_THAT(mistakes_in("[pool.a]\nmodel = \"\"\n"), ElementsAre(HasSubstr("has no workers")));
}

TEST(ModelPoolMistakes, ThereIsNoHealthPathToAsk) {
    const auto meaningless = [](int line, const std::string& key) {
        return StartsWith("t.toml:" + std::to_string(line) + ": pool.a.health." + key +
                          ": has no meaning for a model");
    };
    EXPECT_THAT(mistakes_after_model("health.path = \"/health\"\nhealth.every = \"1s\"\n"
                                     "health.timeout = \"1s\"\nhealth.failures = 2\n"),
                ElementsAre(meaningless(3, "path"), meaningless(4, "every"),
                            meaningless(5, "timeout"), meaningless(6, "failures")));
}

TEST(ModelPoolMistakes, PythonIsForPythonModels) {
    EXPECT_THAT(mistakes_in("[pool.a]\nmodel = \"./w\"\npython = \"python3\"\n"),
                ElementsAre(StartsWith("t.toml:3: pool.a.python: has no meaning for a program")));
}

TEST(ModelPoolMistakes, ReloadIsOneOfThreeWords) {
    EXPECT_THAT(mistakes_after_model("reload = \"in-place\""),
                ElementsAre("t.toml:3: pool.a.reload: \"in-place\" must be \"auto\", \"beside\" or "
                            "\"in_place\""));
    EXPECT_THAT(mistakes_in(test::after_pool("reload = \"auto\"")),
                ElementsAre(HasSubstr("pool.a.reload: has no meaning for attached workers")));
}

TEST(ModelPoolMistakes, APreloadedModuleHasAName) {
    for (const char* name : {"", ".", "a.", ".a", "a..b", "1a", "a-b", "a b", "a.py:x", "\u00e9"})
        EXPECT_THAT(mistakes_after_model("preload = [\"ok\", \"" + std::string(name) + "\"]"),
                    ElementsAre(AllOf(StartsWith("t.toml:3: pool.a.preload: "),
                                      HasSubstr("is not the name of a module"))))
            << name;
    EXPECT_THAT(mistakes_in("[pool.a]\nmodel = \"./w\"\npreload = [\"torch\"]\n"),
                ElementsAre(StartsWith("t.toml:3: pool.a.preload: has no meaning for a program")));
}

TEST(ModelPoolMistakes, WhatIsWatchedPreloadedOrWarmIsAModel) {
    EXPECT_THAT(
        mistakes_in(test::after_started("watch = true\nwarm = false\npreload = [\"torch\"]\n")),
        ElementsAre(StartsWith("t.toml:3: pool.a.watch: has no meaning for HTTP workers"),
                    StartsWith("t.toml:4: pool.a.warm: has no meaning for HTTP workers"),
                    StartsWith("t.toml:5: pool.a.preload: has no meaning for HTTP workers")));
}

TEST(ModelPoolMistakes, KeysOfModelsMeanNothingForOtherWorkers) {
    const std::string keys = "python = \"python3\"\nbatch = 2\nerrors = \"full\"\n";
    const auto three =
        ElementsAre(StartsWith("t.toml:3: pool.a.python: has no meaning for HTTP workers"),
                    StartsWith("t.toml:4: pool.a.batch: has no meaning for HTTP workers"),
                    StartsWith("t.toml:5: pool.a.errors: has no meaning for HTTP workers"));
    EXPECT_THAT(mistakes_in(test::after_started(keys)), three);
    EXPECT_THAT(mistakes_in(test::after_pool(keys)), three);
}

TEST(ModelPoolMistakes, AWorkerIsKilledForAJobThatIsAlone) {
    EXPECT_THAT(mistakes_after_model("cancel = \"kill\""), IsEmpty());
    EXPECT_THAT(mistakes_after_model("cancel = \"kill\"\nslots = 1\nbatch = 1"), IsEmpty());
    for (const char* lines : {"cancel = \"kill\"\nslots = 2", "cancel = \"kill\"\nbatch = 2"})
        EXPECT_THAT(mistakes_after_model(lines),
                    ElementsAre(StartsWith("t.toml:3: pool.a.cancel: \"kill\" needs slots = 1")))
            << lines;
}

// ── files ────────────────────────────────────────────────────────────────────────────────────────

TEST_F(ModelFiles, AreLookedForBesideTheConfiguration) {
    const auto python = with("model = \"model.py:M\"\n");
    ASSERT_THAT(lines_of(python), IsEmpty());
    EXPECT_EQ(python->pools.front().worker.model.path, in("model.py"));
    EXPECT_EQ(std::filesystem::path(python->pools.front().worker.folder),
              std::filesystem::path(in("x")).parent_path());
    EXPECT_THAT(lines_of(with("model = \"./program\"\n")), IsEmpty());
    EXPECT_THAT(lines_of(with("model = \"" + in("program") + "\"\n")), IsEmpty());
}

TEST_F(ModelFiles, ThatAreNotThereOrCannotBeRunAreMistakes) {
    const auto mistake = [&](const std::string& model, const char* problem) {
        EXPECT_THAT(
            lines_of(with("model = \"" + model + "\"\n")),
            ElementsAre(AllOf(StartsWith(in("t.toml") + ":2: pool.a.model: \"" + model + "\" "),
                              HasSubstr(problem))));
    };
    mistake("no.py", "no.py: No such file or directory");
    mistake("no.py:M", "no.py: No such file or directory");
    mistake("nothing", "a model is a Python file (model.py, model.py:Name) or a program");
    mistake("folder", "is a folder");
    mistake("plain", "it is not executable (chmod +x?)");
}

TEST_F(ModelFiles, OfAFlagAreRelativeToWhereItWasTyped) {
    const auto relative = [&](const std::string& name) {
        return std::filesystem::proximate(in(name)).string();
    };
    ASSERT_NE(relative("model.py"), in("model.py"));
    const auto config = make_config(
        std::nullopt,
        {.model = relative("model.py"), .python = relative("program"), .lanes = 2, .slots = 3});
    ASSERT_THAT(lines_of(config), IsEmpty());
    const PoolConfig& pool = config->pools.front();
    EXPECT_EQ(pool.name, "default");
    EXPECT_EQ(pool.worker.model.path, in("model.py"));
    EXPECT_EQ(pool.worker.python, in("program"));
    EXPECT_EQ(pool.worker.folder, "");
    EXPECT_EQ(pool.worker.lanes, 2U);
    EXPECT_EQ(pool.worker.slots_configured, 3);
}

TEST_F(ModelFiles, FlagsAreNamedInTheirMistakes) {
    EXPECT_THAT(lines_of(make_config(std::nullopt, {.model = in("no.py"), .python = "a\nb"})),
                ElementsAre(StartsWith("--python: \"a?b\" has a line break"),
                            StartsWith("MODEL: \"" + in("no.py") + "\" can't be used")));
    EXPECT_THAT(lines_of(make_config(std::nullopt, {.model = in("program"), .python = "python3"})),
                ElementsAre(StartsWith("--python: has no meaning for a program")));
    EXPECT_THAT(
        lines_of(make_config(std::nullopt, {.worker = "x {port}", .model = in("model.py")})),
        ElementsAre(StartsWith("MODEL: a pool has either a model")));
    EXPECT_THAT(lines_of(make_config(std::nullopt, {.worker = "x {port}", .python = "python3"})),
                ElementsAre(StartsWith("--python: has no meaning for HTTP workers")));
}

TEST_F(ModelFiles, AFlagWatchesEveryModelAndNothingElse) {
    const auto config =
        with("model = \"model.py\"\n[pool.b]\nattach = [\"http://h:1\"]\n", {.watch = true});
    ASSERT_THAT(lines_of(config), IsEmpty());
    EXPECT_TRUE(config->pools[0].worker.watch);
    EXPECT_FALSE(config->pools[1].worker.watch);
    EXPECT_THAT(lines_of(make_config(std::nullopt, {.worker = "x {port}", .watch = true})),
                ElementsAre(StartsWith("--watch: is only for pools with a model")));
}

TEST_F(ModelFiles, AModelOfAFlagTakesThePlaceOfOtherWorkers) {
    const auto over_http =
        with("worker = \"x {port}\"\nhealth.path = \"/h\"\nlanes = 2\n", {.model = in("model.py")});
    ASSERT_THAT(lines_of(over_http), IsEmpty());
    EXPECT_TRUE(over_http->pools.front().is_native());
    EXPECT_EQ(over_http->pools.front().worker.command, "");
    EXPECT_EQ(over_http->pools.front().worker.lanes, 2U);
    const auto over_model =
        with("model = \"model.py\"\npython = \"python3\"\nbatch = 4\n", {.model = in("program")});
    EXPECT_THAT(lines_of(over_model), ElementsAre(HasSubstr("has no meaning for a program")));
}

TEST_F(ModelFiles, OtherWorkersOfAFlagTakeThePlaceOfAModel) {
    constexpr std::string_view model =
        "model = \"gone.py\"\npython = \"python3\"\nbatch = 4\nerrors = \"full\"\n"
        "watch = true\nwarm = false\npreload = [\"torch\"]\n";
    for (const Flags& flags : {Flags{.attach = {"http://h:1"}}, Flags{.worker = "x {port}"}}) {
        const auto config = with(model, flags);
        ASSERT_THAT(lines_of(config), IsEmpty());
        EXPECT_FALSE(config->pools.front().is_native());
        EXPECT_EQ(config->pools.front().worker.python, "");
        EXPECT_EQ(config->pools.front().settings.batch, 1U);
        EXPECT_EQ(config->pools.front().worker.pin, Pin::index);
    }
}

}  // namespace
}  // namespace turnpike
