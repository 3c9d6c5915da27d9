#include "supervisor/reload/generations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

std::vector<PoolConfig> one_pool() {
    std::vector<PoolConfig> pools(1);
    pools[0].name = "default";
    return pools;
}

/// Writes a kept source in the format that workers use.
void keep(const std::string& folder, const std::string& path, const std::string& bytes) {
    std::ofstream file(folder + "/sources/" + std::to_string(path.size()), std::ios::binary);
    const auto length = static_cast<std::uint32_t>(path.size());
    for (const unsigned shift : {0U, 8U, 16U, 24U})
        file.put(static_cast<char>((length >> shift) & 0xFFU));
    file << path << bytes;
}

TEST(Generations, KnowsWhatItsWorkersKept) {
    const TemporaryFolder runtime;
    const Generations generations(runtime.file(""), one_pool());
    const std::string folder = generations.folder(0, {1});
    keep(folder, "/home/me/model.py", "x = 1\n");
    const auto sources = sources_in(folder);
    ASSERT_THAT(sources, SizeIs(1));
    EXPECT_EQ(sources[0].path, "/home/me/model.py");
    EXPECT_EQ(sources[0].bytes, "x = 1\n");
}

TEST(Generations, LeavesOutWhatIsCutShortOrNotPublishedYet) {
    const TemporaryFolder runtime;
    const Generations generations(runtime.file(""), one_pool());
    const std::string folder = generations.folder(0, {1});
    std::ofstream(folder + "/sources/short") << "ab";
    std::ofstream(folder + "/sources/long", std::ios::binary) << std::string("\xFF\0\0\0abc", 7);
    std::ofstream(folder + "/sources/.4711", std::ios::binary) << std::string("\1\0\0\0/x", 6);
    EXPECT_THAT(sources_in(folder), IsEmpty());
}

TEST(Generations, LeavesOutEntriesThatAreNotFiles) {
    const TemporaryFolder runtime;
    const Generations generations(runtime.file(""), one_pool());
    const std::string folder = generations.folder(0, {1});
    std::filesystem::create_directory(folder + "/sources/folder");
    std::filesystem::create_symlink("/nowhere", folder + "/sources/link");
    ASSERT_EQ(::mkfifo((folder + "/sources/pipe").c_str(), 0600), 0);
    keep(folder, "/a", "");
    const auto sources = sources_in(folder);
    ASSERT_THAT(sources, SizeIs(1));
    EXPECT_EQ(sources[0].bytes, "");
    EXPECT_THAT(sources_in(folder + "/nowhere"), IsEmpty());
}

TEST(Generations, WhoseSourcesAreForgottenHaveNoneAndTakeNewOnes) {
    const TemporaryFolder runtime;
    const Generations generations(runtime.file(""), one_pool());
    const std::string folder = generations.folder(0, {1});
    const std::string other = generations.folder(0, {2});
    keep(folder, "/a", "old");
    std::ofstream(folder + "/sources/.4711") << "a draft";
    keep(other, "/a", "of another");
    forget_sources(folder);
    EXPECT_TRUE(std::filesystem::is_empty(folder + "/sources"));
    EXPECT_THAT(sources_in(other), SizeIs(1));
    EXPECT_EQ(generations.folder(0, {1}), folder);
    keep(folder, "/a", "new");
    ASSERT_THAT(sources_in(folder), SizeIs(1));
    EXPECT_EQ(sources_in(folder)[0].bytes, "new");
    forget_sources(folder + "/nowhere");
}

TEST(Generations, OfEachPoolLieApartAndOnlyTheirOwnerLooksInside) {
    const TemporaryFolder runtime;
    std::vector<PoolConfig> pools(2);
    pools[0].name = "chat";
    pools[1].name = "draw";
    Generations generations(runtime.file("run"), pools);
    EXPECT_EQ(generations.folder(0, {1}), "") << "the runtime folder is not there";
    std::filesystem::create_directory(runtime.file("run"));
    generations = Generations(runtime.file("run"), pools);
    EXPECT_EQ(generations.home(1), runtime.file("run/generations/draw"));
    EXPECT_EQ(generations.folder(1, {7}), runtime.file("run/generations/draw/7"));
    EXPECT_FALSE(runtime.has("run/generations/chat/7"));
    EXPECT_EQ(std::filesystem::status(generations.folder(1, {7})).permissions(),
              std::filesystem::perms::owner_all);
    EXPECT_EQ(generations.next(0).value, 2U);
    EXPECT_EQ(generations.next(1).value, 2U);
    remove_generation(generations.folder(1, {7}));
    EXPECT_FALSE(runtime.has("run/generations/draw/7"));
    EXPECT_TRUE(runtime.has("run/generations/draw"));
}

TEST(KeptProgram, IsTheOriginalUntilThatChanges) {
    const TemporaryFolder folder;
    folder.write("worker", "first");
    std::filesystem::create_directory(folder.file("1"));
    KeptProgram program(folder.file("worker"), folder.file("1"));
    EXPECT_EQ(program.path(), folder.file("worker"));
    ASSERT_TRUE(program.copy());
    program.copied();
    EXPECT_EQ(program.path(), folder.file("worker"));
    folder.write("worker", "second version");
    EXPECT_EQ(program.path(), folder.file("1/program/worker"));
    EXPECT_EQ(folder.read("1/program/worker"), "first");
    std::filesystem::remove(folder.file("worker"));
    EXPECT_EQ(program.path(), folder.file("1/program/worker"));
}

TEST(KeptProgram, ThatChangedBeforeItWasCopiedHasNoCopy) {
    const TemporaryFolder folder;
    folder.write("worker", "first");
    const KeptProgram program(folder.file("worker"), folder.file(""));
    folder.write("worker", "second version");
    EXPECT_FALSE(program.copy());
    EXPECT_EQ(program.path(), folder.file("worker")) << "there is nothing else";
    EXPECT_FALSE(KeptProgram(folder.file("nowhere"), folder.file("")).copy());
    EXPECT_FALSE(KeptProgram(folder.file("worker"), "").copy()) << "there is no place for it";
}

TEST(Generations, OfAnEarlierGateAreForgotten) {
    const TemporaryFolder runtime;
    keep(Generations(runtime.file(""), one_pool()).folder(0, {1}), "/home/me/model.py", "old");
    const Generations generations(runtime.file(""), one_pool());
    EXPECT_THAT(sources_in(generations.folder(0, {1})), IsEmpty());
}

TEST(Generations, HaveNumbersThatNoneHadBefore) {
    const TemporaryFolder runtime;
    Generations generations(runtime.file(""), one_pool());
    EXPECT_EQ(generations.next(0).value, 2U);
    EXPECT_EQ(generations.next(0).value, 3U);
}

TEST(Generations, ThatCantBeKeptHaveNoFolder) {
    const Generations generations("/nowhere/at/all", one_pool());
    EXPECT_EQ(generations.folder(0, {1}), "");
}

TEST(Generations, AreTouchedWithAllThatIsKeptInThem) {
    const TemporaryFolder runtime;
    const Generations generations(runtime.file(""), one_pool());
    const std::string folder = generations.folder(0, {1});
    keep(folder, "/home/me/model.py", "x = 1\n");
    const std::vector<std::string> paths{folder, folder + "/sources", folder + "/sources/17"};
    const std::filesystem::file_time_type long_ago{};
    for (const std::string& path : paths) std::filesystem::last_write_time(path, long_ago);

    touch_generations(runtime.file(""));

    for (const std::string& path : paths)
        EXPECT_NE(std::filesystem::last_write_time(path), long_ago) << path;
}

TEST(KeptProgram, FindsItsNeighboursBesideItsCopy) {
    const TemporaryFolder home;
    const TemporaryFolder generation;
    std::ofstream(home.file("worker")) << "#!/bin/sh\n";
    std::ofstream(home.file("weights")) << "1 2 3";
    KeptProgram program(home.file("worker"), generation.file(""));
    ASSERT_TRUE(program.copy());
    program.copied();
    EXPECT_EQ(program.path(), home.file("worker"));
    std::ofstream(home.file("worker")) << "changed";

    const std::filesystem::path copy = program.path();
    EXPECT_NE(copy, home.file("worker"));
    EXPECT_EQ(copy.filename(), "worker");
    std::string text;
    std::getline(std::ifstream(copy.parent_path() / "weights"), text);
    EXPECT_EQ(text, "1 2 3");
}

TEST(SourceCopies, BringsBackWhatIsGone) {
    const TemporaryFolder runtime;
    const Generations generations(runtime.file(""), one_pool());
    const std::string folder = generations.folder(0, {1});
    keep(folder, "/a.py", "a = 1\n");
    keep(folder, "/home/b.py", "b = 1\n");
    std::ofstream(folder + "/sources/.4711") << "not published yet";
    ASSERT_EQ(::mkfifo((folder + "/sources/pipe").c_str(), 0600), 0);
    SourceCopies copies;
    copies.look(folder);
    EXPECT_EQ(copies.size(), 2U);
    for (const std::string lost : {"/sources/5", "/sources", "", "/.."}) {
        std::filesystem::remove_all(folder + lost);
        std::filesystem::create_directories(std::filesystem::path(folder).parent_path());
        copies.look(folder);
        EXPECT_THAT(sources_in(folder), SizeIs(2)) << lost;
    }
    std::filesystem::remove(folder + "/sources/5");
    std::filesystem::create_directory(folder + "/sources/5");
    copies.look(folder);
    EXPECT_THAT(sources_in(folder), SizeIs(2)) << "a folder in place of a file";
}

TEST(SourceCopies, ReadsAFewMebibytesAtOnceAndNeverMoreThanItMayKeep) {
    constexpr std::size_t mebibyte = std::size_t{1024} * 1024;
    const TemporaryFolder runtime;
    const Generations generations(runtime.file(""), one_pool());
    const std::string folder = generations.folder(0, {1});
    for (int i = 0; i < 100; ++i)
        runtime.write("generations/" + one_pool()[0].name + "/1/sources/" + std::to_string(i),
                      std::string(mebibyte, 'x'));
    SourceCopies copies;
    for (std::size_t looks = 1; looks <= 16; ++looks) {
        copies.look(folder);
        EXPECT_EQ(copies.size(), looks * 4);
    }
    for (int i = 0; i < 3; ++i) copies.look(folder);
    EXPECT_EQ(copies.size(), 64U) << "64 MiB are kept";
    runtime.write("generations/" + one_pool()[0].name + "/1/sources/small", "");
    copies.look(folder);
    EXPECT_EQ(copies.size(), 65U) << "an empty file still fits";
}

TEST(SourceCopies, LeavesAloneWhatWorkersPublishedSince) {
    const TemporaryFolder runtime;
    const Generations generations(runtime.file(""), one_pool());
    const std::string folder = generations.folder(0, {1});
    keep(folder, "/a.py", "a = 1\n");
    SourceCopies copies;
    copies.look(folder);
    std::filesystem::remove_all(folder + "/sources");
    std::filesystem::create_directory(folder + "/sources");
    keep(folder, "/a.py", "a = 2\n");
    copies.restore(folder);
    ASSERT_THAT(sources_in(folder), SizeIs(1));
    EXPECT_EQ(sources_in(folder)[0].bytes, "a = 2\n");
}

TEST(KeptProgram, IsCopiedAgainFromItsCopyIfThatIsGone) {
    const TemporaryFolder runtime;
    const std::string original = runtime.file("worker");
    std::ofstream(original) << "#!/bin/sh\nexit 0\n";
    ASSERT_EQ(::chmod(original.c_str(), 0700), 0);
    KeptProgram program(original, runtime.file("1"));
    std::filesystem::create_directory(runtime.file("1"));
    ASSERT_TRUE(program.copy());
    program.copied();
    std::filesystem::remove_all(runtime.file("1"));
    std::ofstream(original) << "something else, and longer than before\n";
    std::filesystem::create_directory(runtime.file("2"));
    ASSERT_TRUE(program.move_to(runtime.file("2")));
    EXPECT_EQ(program.path(), runtime.file("2") + "/program/worker");
    std::ifstream copy(program.path());
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(copy), {}), "#!/bin/sh\nexit 0\n");
    EXPECT_EQ(::access(program.path().c_str(), X_OK), 0);
}

}  // namespace
}  // namespace turnpike
