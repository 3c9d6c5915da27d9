#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/config/mistakes.h"

namespace turnpike {
namespace {

using test::lines_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// Writes a file for the current test and returns its path.
std::string file_with(std::string_view text) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    const std::string path = testing::TempDir() + "turnpike_" + test->name() + ".toml";
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

constexpr std::string_view two_pools =
    "[pool.a]\nattach = [\"http://h:1\"]\n[pool.b]\nattach = [\"http://h:2\"]\n";

TEST(Flags, AloneMakeThePoolCalledDefault) {
    const auto config = make_config(std::nullopt, {.attach = {"http://h:1", "http://h:2"},
                                                   .host = "::1",
                                                   .port = 9000,
                                                   .slots = 2,
                                                   .log_jobs = "-",
                                                   .log_starts = true});
    ASSERT_THAT(lines_of(config), IsEmpty());
    EXPECT_EQ(config->gate.listen, (Address{"::1", 9000}));
    EXPECT_EQ(config->log, (LogConfig{.jobs = "-", .starts = true}));
    ASSERT_EQ(config->pools.size(), 1U);
    const PoolConfig& pool = config->pools.front();
    EXPECT_EQ(pool.name, "default");
    EXPECT_EQ(pool.settings.lanes, 2U);
    EXPECT_EQ(pool.settings.slots, 2U);
    EXPECT_EQ(pool.settings.cancel, CancelPolicy::close);
}

TEST(Flags, OverrideTheFile) {
    const std::string path = file_with(
        "[gate]\nlisten = \"0.0.0.0:1\"\n[log]\njobs = \"/a\"\n"
        "[pool.chat]\nattach = [\"http://old:1\", \"http://old:2\"]\nslots = 8\n");
    const auto config =
        make_config(path, {.attach = {"http://new:1"}, .port = 2, .slots = 1, .log_jobs = ""});
    ASSERT_THAT(lines_of(config), IsEmpty());
    EXPECT_EQ(config->gate.listen, (Address{"0.0.0.0", 2}));
    EXPECT_EQ(config->log.jobs, "");
    ASSERT_EQ(config->pools.size(), 1U);
    const PoolConfig& pool = config->pools.front();
    EXPECT_EQ(pool.name, "chat");
    ASSERT_EQ(pool.attach.size(), 1U);
    EXPECT_EQ(pool.attach.front().host, "new");
    EXPECT_EQ(pool.settings.lanes, 1U);
    EXPECT_EQ(pool.settings.slots, 1U);
    EXPECT_EQ(pool.settings.cancel, CancelPolicy::finish);
}

TEST(Flags, FillInThePoolThatTheFileLeavesOut) {
    const auto none = make_config(file_with("[queue]\njobs_max = 5\n"), {.attach = {"http://h:1"}});
    ASSERT_THAT(lines_of(none), IsEmpty());
    EXPECT_EQ(none->pools.front().name, "default");
    EXPECT_EQ(none->pools.front().settings.queue_jobs_max, 5U);
    const auto bare = make_config(file_with("[pool.x]\nslots = 3\n"), {.attach = {"http://h:1"}});
    ASSERT_THAT(lines_of(bare), IsEmpty());
    EXPECT_EQ(bare->pools.front().name, "x");
}

TEST(Flags, AreNamedInTheirMistakes) {
    EXPECT_THAT(lines_of(make_config(std::nullopt, {.attach = {"h:1", "http://h:1", "http://h:1"},
                                                    .host = "a:b:x",
                                                    .slots = 0,
                                                    .log_jobs = "a\nb"})),
                ElementsAre(StartsWith("--attach: \"h:1\" must be a URL"),
                            "--slots: must be 1 to 1024", StartsWith("--host: \"a:b:x\" "),
                            StartsWith("--log-jobs: \"a?b\" must be a file's path"),
                            "--attach: \"http://h:1\" is already listed in --attach"));
    EXPECT_THAT(lines_of(make_config(std::nullopt, {.attach = std::vector<std::string>(65)})),
                ElementsAre("--attach: has 65 items; at most 64 are allowed"));
}

TEST(Flags, OfOnePoolNeedToKnowWhich) {
    const std::string path = file_with(two_pools);
    EXPECT_THAT(lines_of(make_config(path, {.attach = {"http://h:9"}, .slots = 2})),
                ElementsAre(StartsWith("--attach: which pool is meant? The file has 2 pools"),
                            StartsWith("--slots: which pool is meant?")));
    EXPECT_THAT(lines_of(make_config(path, {.port = 1})), IsEmpty());
}

TEST(Flags, WithoutAnyWorkerSayHowToNameOne) {
    EXPECT_THAT(
        lines_of(make_config(std::nullopt, {})),
        ElementsAre(AllOf(
            StartsWith("--worker: there is no pool: serve a model with `turnpike up model.py`"),
            HasSubstr("--worker 'uvicorn"), HasSubstr("--attach http://127.0.0.1:8001"))));
    EXPECT_THAT(lines_of(make_config(std::nullopt, {.slots = 4})),
                ElementsAre(StartsWith("--worker: there is no pool")));
}

TEST(Flags, MakeAPoolWhoseWorkersAreStarted) {
    const auto config = make_config(
        std::nullopt,
        {.worker = "serve --port {port}", .gpus = "0,GPU-8f6a,02", .gpus_per_lane = 2, .lanes = 3});
    ASSERT_THAT(lines_of(config), IsEmpty());
    ASSERT_EQ(config->pools.size(), 1U);
    const PoolConfig& pool = config->pools.front();
    EXPECT_EQ(pool.name, "default");
    EXPECT_EQ(
        pool.worker,
        (WorkerConfig{.command = "serve --port {port}",
                      .gpus = {.kind = GpuChoice::Kind::listed, .listed = {"0", "GPU-8f6a", "2"}},
                      .gpus_per_lane = 2,
                      .lanes = 3}));
    EXPECT_EQ(pool.settings.ownership, Ownership::owned);
}

TEST(Flags, NameAllGpusOrNone) {
    const auto kind = [](const char* gpus) {
        return make_config(std::nullopt, {.worker = "x {port}", .gpus = gpus})
            .value()
            .pools.front()
            .worker.gpus.kind;
    };
    EXPECT_EQ(kind("all"), GpuChoice::Kind::all);
    EXPECT_EQ(kind("none"), GpuChoice::Kind::none);
}

TEST(Flags, AWorkerTakesThePlaceOfThoseOfTheFile) {
    const auto over_attached =
        make_config(file_with("[pool.chat]\nattach = [\"http://old:1\"]\nslots = 8\n"),
                    {.worker = "new {port}"});
    ASSERT_THAT(lines_of(over_attached), IsEmpty());
    EXPECT_THAT(over_attached->pools.front().attach, IsEmpty());
    EXPECT_EQ(over_attached->pools.front().worker.command, "new {port}");
    EXPECT_EQ(over_attached->pools.front().settings.slots, 8U);
    const auto over_started = make_config(
        file_with("[pool.chat]\nworker = \"old {port}\"\nlanes = 2\n"), {.worker = "new {port}"});
    ASSERT_THAT(lines_of(over_started), IsEmpty());
    EXPECT_EQ(over_started->pools.front().worker.command, "new {port}");
    EXPECT_EQ(over_started->pools.front().worker.lanes, 2U);
    EXPECT_EQ(over_started->pools.front().worker.folder, "") << "it was typed elsewhere";
}

TEST(Flags, AttachTakesThePlaceOfWorkersToStartAndOfTheirKeys) {
    const auto config = make_config(file_with("[pool.chat]\nworker = \"old {port}\"\nlanes = 2\n"
                                              "load_timeout = \"1m\"\n"),
                                    {.attach = {"http://new:1"}});
    ASSERT_THAT(lines_of(config), IsEmpty());
    EXPECT_FALSE(config->pools.front().is_started());
    EXPECT_EQ(config->pools.front().settings.ownership, Ownership::attached);
}

TEST(Flags, OfStartedWorkersAreNamedInTheirMistakes) {
    EXPECT_THAT(
        lines_of(make_config(std::nullopt,
                             {.worker = "serve", .gpus = "0,,x", .gpus_per_lane = 0, .lanes = 65})),
        ElementsAre(StartsWith("--worker: \"serve\" must contain {port}"),
                    StartsWith("--gpus: \"\" is not a GPU"),
                    StartsWith("--gpus: \"x\" is not a GPU"), "--gpus-per-lane: must be 1 to 64",
                    "--lanes: must be 0 to 64"));
}

TEST(Flags, OneOfWorkerAndAttachIsEnough) {
    EXPECT_THAT(
        lines_of(make_config(std::nullopt, {.attach = {"http://h:1"}, .worker = "x {port}"})),
        ElementsAre(StartsWith("--worker: a pool has either a model, or HTTP workers")));
    EXPECT_THAT(lines_of(make_config(std::nullopt, {.attach = {"http://h:1"}, .gpus = "0"})),
                ElementsAre(StartsWith("--gpus: has no meaning for attached workers")));
}

TEST(Flags, MistakesOfTheFileComeWithThem) {
    const std::string path = file_with("[gate]\nlisen = 1\n");
    EXPECT_THAT(lines_of(make_config(path, {.attach = {"x"}})),
                ElementsAre(StartsWith("--attach: \"x\" must be a URL"),
                            path + ":2: gate.lisen: unknown key; did you mean listen?"));
}

TEST(File, IsLoaded) {
    const auto config = load_config(file_with(two_pools));
    ASSERT_THAT(lines_of(config), IsEmpty());
    EXPECT_EQ(config->pools.size(), 2U);
}

TEST(File, SaysWhereItsWorkersRun) {
    const std::string path = file_with("[pool.a]\nworker = \"x {port}\"\n");
    const std::string folder = std::filesystem::path(path).parent_path().string();
    EXPECT_EQ(load_config(path).value().pools.front().worker.folder, folder);
    const std::string relative = std::filesystem::proximate(path).string();
    ASSERT_NE(relative, path);
    EXPECT_EQ(load_config(relative).value().pools.front().worker.folder, folder);
}

TEST(File, ThatCannotBeReadIsOneMistake) {
    const std::string folder = testing::TempDir();
    EXPECT_THAT(
        lines_of(load_config(folder + "turnpike_no_such_file.toml")),
        ElementsAre(HasSubstr("turnpike_no_such_file.toml: can't be opened: No such file")));
    EXPECT_THAT(lines_of(load_config(folder)), ElementsAre(HasSubstr(": can't be read: ")));
    EXPECT_THAT(lines_of(load_config(file_with(std::string(1024 * 1024 + 1, '\n')))),
                ElementsAre(HasSubstr(": is larger than 1MiB")));
    EXPECT_THAT(lines_of(load_config(file_with("x ="))), ElementsAre(HasSubstr(".toml:1: ")));
}

}  // namespace
}  // namespace turnpike
