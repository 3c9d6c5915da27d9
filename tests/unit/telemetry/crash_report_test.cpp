#include "telemetry/crash_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "telemetry/recent_crashes.h"
#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t noon_ns = 1'794'744'000 * second_ns;  // 2026-11-15T12:00:00Z

CrashReport sample(std::int64_t seconds = 0) {
    return {.unix_ns = noon_ns + seconds * second_ns,
            .lane = 2,
            .pool = "chat",
            .generation = 3,
            .pid = 4711,
            .command = "vllm serve \"x\"",
            .gpus = {"0 GPU-1 NVIDIA H200"},
            .why = "exited",
            .how = "killed by SIGKILL",
            .exit_code = std::nullopt,
            .signal = 9,
            .lived = 90'500ms,
            .memory_peak = Bytes{1024},
            .gpu_memory_used = std::nullopt,
            .oom_line = "Out of memory: Killed process 4711 (python3)",
            .log = "out line one\nerr last \"words\"\n",
            .inputs = {}};
}

mode_t mode_of(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777;
}

struct Stand {
    TemporaryFolder parent;
    std::string folder = parent.file("crashes");

    std::string write(const CrashReport& report, std::uint32_t keep = 10) {
        const auto id = write_crash_report(folder, report, keep);
        EXPECT_TRUE(id) << id.error();
        return id.value_or("");
    }
    [[nodiscard]] std::vector<std::string> ids() const {
        std::vector<std::string> found;
        for (const CrashSummary& summary : list_crash_reports(folder)) found.push_back(summary.id);
        return found;
    }
    [[nodiscard]] std::string read(const std::string& path) const {
        return parent.read("crashes/" + path);
    }
};

TEST(CrashReport, HasANameThatSortsByTime) {
    EXPECT_EQ(crash_id(sample()), "20261115-120000-000-lane2-4711");
    EXPECT_TRUE(is_crash_id(crash_id(sample())));
}

TEST(CrashReport, HasANameThatIsSafeInAPath) {
    for (const std::string id : {"", ".", "..", "../x", "2026/x", "20261115..", ".unfinished-2026",
                                 "2026 x", "lane0", "2026\n", "2026%2f"})
        EXPECT_FALSE(is_crash_id(id)) << id;
    EXPECT_FALSE(is_crash_id(std::string(200, '1')));
    EXPECT_FALSE(is_crash_id(std::string("2026\0x", 6)));
}

TEST(CrashReport, SaysWhatIsKnown) {
    EXPECT_EQ(crash_json("ID", sample()),
              R"({"id":"ID","time":"2026-11-15T12:00:00.000Z","lane":2,"pool":"chat",)"
              R"("generation":3,"pid":4711,"command":"vllm serve \"x\"",)"
              R"("gpus":["0 GPU-1 NVIDIA H200"],"why":"exited","how":"killed by SIGKILL",)"
              R"("exit_code":null,"signal":9,"lived_s":90.5,"memory_peak_bytes":1024,)"
              R"("gpu_memory_used_bytes":null,)"
              R"-("oom":"Out of memory: Killed process 4711 (python3)",)-"
              R"-("last_line":"last \"words\"","inputs":[]})-"
              "\n");
}

TEST(CrashReport, IsAFolderForItsOwnerOnly) {
    Stand stand;
    CrashReport report = sample();
    report.inputs = {{.job = "abc", .request = "POST /x", .body = "in", .is_cut = true}};
    const std::string id = stand.write(report);
    EXPECT_EQ(stand.read(id + "/report.json"), crash_json(id, report));
    EXPECT_EQ(stand.read(id + "/log.txt"), report.log);
    EXPECT_EQ(stand.read(id + "/input-abc"), "in");
    EXPECT_EQ(mode_of(stand.folder), 0700U);
    EXPECT_EQ(mode_of(stand.folder + "/" + id), 0700U);
    for (const std::string file : {"report.json", "log.txt", "input-abc"})
        EXPECT_EQ(mode_of(stand.folder + "/" + id + "/" + file), 0600U) << file;
}

TEST(CrashReport, NamesTheFilesOfInputsItself) {
    Stand stand;
    CrashReport report = sample();
    report.inputs = {{.job = "../../evil", .body = "one"}, {.job = "", .body = "two"}};
    const std::string id = stand.write(report);
    EXPECT_EQ(stand.read(id + "/input-1"), "one");
    EXPECT_EQ(stand.read(id + "/input-2"), "two");
}

TEST(CrashReport, KeepsTheLastOfALongLog) {
    Stand stand;
    CrashReport report = sample();
    report.log.clear();
    while (report.log.size() < 2 * CrashReport::log_max) report.log += "a line\n";
    report.log += "the end\n";
    const std::string log = stand.read(stand.write(report) + "/log.txt");
    EXPECT_LE(log.size(), CrashReport::log_max);
    EXPECT_GT(log.size(), CrashReport::log_max - 10);
    EXPECT_THAT(log, StartsWith("a line\n"));
    EXPECT_THAT(log, EndsWith("the end\n"));
}

TEST(CrashReport, GetsAnotherNameIfItsOwnIsTaken) {
    Stand stand;
    EXPECT_EQ(stand.write(sample()), "20261115-120000-000-lane2-4711");
    EXPECT_EQ(stand.write(sample()), "20261115-120000-000-lane2-4711-2");
    EXPECT_EQ(stand.write(sample()), "20261115-120000-000-lane2-4711-3");
}

TEST(CrashReport, IsListedNewestFirst) {
    Stand stand;
    for (const int second : {5, 1, 9}) stand.write(sample(second));
    EXPECT_THAT(stand.ids(),
                ElementsAre("20261115-120009-000-lane2-4711", "20261115-120005-000-lane2-4711",
                            "20261115-120001-000-lane2-4711"));
}

TEST(CrashReport, OfTheSameSecondIsListedByTimeWhateverItsPid) {
    Stand stand;
    CrashReport report = sample();
    for (const std::int64_t pid : {998, 1010, 12}) {
        report.pid = pid;
        stand.write(report, 2);
        report.unix_ns += 1'000'000;
    }
    EXPECT_THAT(stand.ids(),
                ElementsAre("20261115-120000-002-lane2-12", "20261115-120000-001-lane2-1010"));
}

TEST(CrashReport, HasTheLastLineOfItsWorker) {
    const auto last_line = [](const std::string& log) {
        CrashReport report = sample();
        report.log = log;
        const std::string json = crash_json("ID", report);
        const std::size_t begin = json.find("\"last_line\":") + 12;
        return json.substr(begin, json.find(",\"inputs\"") - begin);
    };
    EXPECT_EQ(last_line("err a\nerr b\nerr \nout c\nturnpike ended\n"), "\"b\"");
    EXPECT_EQ(last_line("out a\nout b\nturnpike ended\n"), "\"b\"");
    EXPECT_EQ(last_line("err a"), "\"a\"");
    for (const char* none : {"", "\n", "err \n\n", "turnpike started\n", "er"})
        EXPECT_EQ(last_line(none), "null") << none;
}

TEST(CrashReport, MakesRoomByRemovingTheOldest) {
    Stand stand;
    for (int second = 0; second < 5; ++second) stand.write(sample(second), 3);
    EXPECT_THAT(stand.ids(),
                ElementsAre("20261115-120004-000-lane2-4711", "20261115-120003-000-lane2-4711",
                            "20261115-120002-000-lane2-4711"));
}

TEST(CrashReport, IsNotRemovedAtOnceIfTheClockWasSetBack) {
    Stand stand;
    for (int second = 1; second < 4; ++second) stand.write(sample(second), 3);
    const std::string id = stand.write(sample(-3600), 3);
    EXPECT_THAT(stand.ids(), testing::Contains(id));
    EXPECT_EQ(stand.ids().size(), 3U);
}

TEST(CrashReport, LeavesOtherFilesAlone) {
    Stand stand;
    fs::create_directories(stand.folder + "/notes");
    fs::create_directories(stand.folder + "/.unfinished-20261115-1");
    stand.write(sample(), 1);
    stand.write(sample(1), 1);
    EXPECT_TRUE(fs::exists(stand.folder + "/notes"));
    EXPECT_FALSE(fs::exists(stand.folder + "/.unfinished-20261115-1")) << "it is incomplete";
    EXPECT_EQ(stand.ids().size(), 1U);
}

TEST(CrashReport, IsReadWithItsLogAndItsFiles) {
    Stand stand;
    const std::string id = stand.write(sample());
    const auto page = read_crash_report(stand.folder, id);
    ASSERT_TRUE(page);
    const std::string json = crash_json(id, sample());
    EXPECT_EQ(*page, json.substr(0, json.size() - 2) +
                         R"(,"log":"out line one\nerr last \"words\"\n",)" + "\"files\":[\"" +
                         stand.folder + "/" + id + "/log.txt\",\"" + stand.folder + "/" + id +
                         "/report.json\"]}\n");
}

TEST(CrashReport, IsNotReadFromOutsideItsFolder) {
    Stand stand;
    const std::string id = stand.write(sample());
    EXPECT_FALSE(read_crash_report(stand.folder, "../crashes/" + id));
    EXPECT_FALSE(read_crash_report(stand.folder, ""));
    EXPECT_FALSE(read_crash_report(stand.folder, "20270101-000000-000-lane0-1"));
}

TEST(CrashReport, IsLeftOutIfItIsDamaged) {
    Stand stand;
    const std::string empty = stand.write(sample(0));
    const std::string half = stand.write(sample(1));
    const std::string gone = stand.write(sample(2));
    const std::string link = stand.write(sample(3));
    const std::string good = stand.write(sample(4));
    stand.parent.write("crashes/" + empty + "/report.json", "");
    stand.parent.write("crashes/" + half + "/report.json", "{\"id\":\"" + half + "\",\"ti");
    fs::remove(stand.folder + "/" + gone + "/report.json");
    fs::remove(stand.folder + "/" + link + "/report.json");
    fs::create_symlink("/etc/passwd", stand.folder + "/" + link + "/report.json");
    stand.parent.write("crashes/20261115-120009-000-lane0-1", "a file, no folder");
    EXPECT_THAT(stand.ids(), ElementsAre(good));
    EXPECT_FALSE(read_crash_report(stand.folder, half));
}

TEST(CrashReport, SaysWhyItCouldNotBeWritten) {
    const TemporaryFolder parent;
    parent.write("file", "");
    const auto in_file = write_crash_report(parent.file("file"), sample(), 3);
    ASSERT_FALSE(in_file);
    EXPECT_THAT(in_file.error(), HasSubstr("can't make the folder " + parent.file("file")));
    const auto nowhere = write_crash_report(parent.file("no/where"), sample(), 3);
    ASSERT_FALSE(nowhere);
    EXPECT_THAT(nowhere.error(), HasSubstr("No such file or directory"));
    EXPECT_THAT(list_crash_reports(parent.file("no/where")), IsEmpty());
}

TEST(CrashReport, LeavesNothingHalfWritten) {
    Stand stand;
    CrashReport report = sample();
    report.inputs = {{.job = "same", .body = "one"}, {.job = "same", .body = "two"}};
    EXPECT_FALSE(write_crash_report(stand.folder, report, 3)) << "two files have the same name";
    EXPECT_TRUE(fs::is_empty(stand.folder));
}

// ── recent crashes ───────────────────────────────────────────────────────────────────────────────

std::vector<std::string> ids_of(const RecentCrashes& crashes) {
    std::vector<std::string> ids;
    for (const RecentCrashes::Crash& crash : crashes.newest_first()) ids.push_back(crash.id);
    return ids;
}

TEST(RecentCrashes, HasTheReportsOfFormerRuns) {
    Stand stand;
    for (const int second : {1, 2, 3}) stand.write(sample(second));
    RecentCrashes crashes(2);
    crashes.load(stand.folder);
    EXPECT_THAT(ids_of(crashes),
                ElementsAre("20261115-120003-000-lane2-4711", "20261115-120002-000-lane2-4711"));
    ASSERT_NE(crashes.find("20261115-120002-000-lane2-4711"), nullptr);
    EXPECT_THAT(crashes.find("20261115-120002-000-lane2-4711")->page,
                HasSubstr("\"log\":\"out line one"));
    EXPECT_EQ(crashes.find("20261115-120001-000-lane2-4711"), nullptr);
}

TEST(RecentCrashes, PutsTheNewestFirstAndDropsTheOldest) {
    RecentCrashes crashes(2);
    for (const char* id : {"1", "2", "3"}) crashes.add({.id = id, .json = {}, .page = {}});
    EXPECT_THAT(ids_of(crashes), ElementsAre("3", "2"));
}

TEST(RecentCrashes, StaysEmptyIfItKeepsNone) {
    Stand stand;
    stand.write(sample());
    RecentCrashes crashes(0);
    crashes.load(stand.folder);
    crashes.add({.id = "1", .json = {}, .page = {}});
    EXPECT_THAT(ids_of(crashes), IsEmpty());
}

TEST(RecentCrashes, StoresReportsOnTheDisk) {
    Stand stand;
    const auto stored = RecentCrashes::store(stand.folder, sample(), 5);
    EXPECT_EQ(stored.problem, "");
    EXPECT_THAT(stand.ids(), ElementsAre(stored.crash.id));
    EXPECT_EQ(stored.crash.json, crash_json(stored.crash.id, sample()));
    EXPECT_EQ(stored.crash.page, read_crash_report(stand.folder, stored.crash.id));
}

TEST(RecentCrashes, HasAReportThatCouldNotBeWritten) {
    const TemporaryFolder parent;
    parent.write("file", "");
    const auto stored = RecentCrashes::store(parent.file("file"), sample(), 5);
    EXPECT_THAT(stored.problem, HasSubstr("can't make the folder"));
    EXPECT_EQ(stored.crash.id, crash_id(sample()));
    EXPECT_THAT(stored.crash.page, EndsWith("\"files\":[]}\n"));
}

TEST(RecentCrashes, MayHaveNoFolder) {
    const auto stored = RecentCrashes::store("", sample(), 5);
    EXPECT_EQ(stored.problem, "");
    EXPECT_THAT(stored.crash.page, HasSubstr("last \\\"words\\\""));
}

}  // namespace
}  // namespace turnpike
