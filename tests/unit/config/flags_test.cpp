#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/config/mistakes.h"

namespace turnpike {
namespace {

using test::lines_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// A file of this test's own.
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
                            StartsWith("--host: \"a:b:x\" "), "--slots: must be 1 to 1024",
                            StartsWith("--log-jobs: \"a?b\" must be a file's path"),
                            "--attach: \"http://h:1\" is in --attach already"));
    EXPECT_THAT(lines_of(make_config(std::nullopt, {.attach = std::vector<std::string>(65)})),
                ElementsAre("--attach: has 65 items; at most 64 are allowed"));
}

TEST(Flags, OfOnePoolNeedToKnowWhich) {
    const std::string path = file_with(two_pools);
    EXPECT_THAT(lines_of(make_config(path, {.attach = {"http://h:9"}, .slots = 2})),
                ElementsAre(StartsWith("--attach: which pool is meant? The file has 2"),
                            StartsWith("--slots: which pool is meant?")));
    EXPECT_THAT(lines_of(make_config(path, {.port = 1})), IsEmpty());
}

TEST(Flags, WithoutAnyWorkerSayHowToNameOne) {
    EXPECT_THAT(lines_of(make_config(std::nullopt, {})),
                ElementsAre(StartsWith("--attach: there is no pool: name workers with --attach")));
    EXPECT_THAT(lines_of(make_config(std::nullopt, {.slots = 4})),
                ElementsAre(StartsWith("--attach: there is no pool")));
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
