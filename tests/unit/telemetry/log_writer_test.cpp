#include "telemetry/log_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

using testing::HasSubstr;

/// Returns a line of `size` bytes, including its line feed.
std::string line(char letter, std::size_t size) { return std::string(size - 1, letter) + "\n"; }

RotatingFile opened(LogFile where) {
    auto file = RotatingFile::open(std::move(where));
    EXPECT_TRUE(file) << file.error();
    return std::move(*file);
}

mode_t mode_of(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 0777;
}

TEST(RotatingFile, AppendsToWhatIsThere) {
    const TemporaryFolder folder;
    folder.write("jobs.log", "old\n");
    RotatingFile file = opened({.path = folder.file("jobs.log")});
    EXPECT_EQ(file.write("new\n").bytes, 4U);
    EXPECT_EQ(folder.read("jobs.log"), "old\nnew\n");
}

TEST(RotatingFile, IsFilledToItsLastByteBeforeItRotates) {
    const TemporaryFolder folder;
    RotatingFile file = opened({.path = folder.file("jobs.log"), .size_max = Bytes{8192}});
    file.write(line('a', 8000));
    file.write(line('b', 192));
    EXPECT_FALSE(folder.has("jobs.log.1")) << "8192 bytes fit";
    file.write(line('c', 10));
    EXPECT_EQ(folder.read("jobs.log.1"), line('a', 8000) + line('b', 192));
    EXPECT_EQ(folder.read("jobs.log"), line('c', 10));
}

TEST(RotatingFile, RotatesRatherThanPassItsSizeByOneByte) {
    const TemporaryFolder folder;
    RotatingFile file = opened({.path = folder.file("jobs.log"), .size_max = Bytes{8192}});
    file.write(line('a', 8000));
    file.write(line('b', 193));
    EXPECT_EQ(folder.read("jobs.log.1"), line('a', 8000));
    EXPECT_EQ(folder.read("jobs.log"), line('b', 193));
}

TEST(RotatingFile, RotatesBetweenTheLinesOfOneText) {
    const TemporaryFolder folder;
    RotatingFile file = opened({.path = folder.file("jobs.log"), .size_max = Bytes{8192}});
    const std::string text = line('a', 6000) + line('b', 2000) + line('c', 2000) + line('d', 7000);
    EXPECT_EQ(file.write(text).bytes, text.size());
    EXPECT_EQ(folder.read("jobs.log.2"), line('a', 6000) + line('b', 2000));
    EXPECT_EQ(folder.read("jobs.log.1"), line('c', 2000));
    EXPECT_EQ(folder.read("jobs.log"), line('d', 7000));
}

TEST(RotatingFile, CountsWhatWasThereBefore) {
    const TemporaryFolder folder;
    folder.write("jobs.log", line('o', 8186));
    RotatingFile file = opened({.path = folder.file("jobs.log"), .size_max = Bytes{8192}});
    file.write(line('n', 7));
    EXPECT_EQ(folder.read("jobs.log.1"), line('o', 8186));
    EXPECT_EQ(folder.read("jobs.log"), line('n', 7));
}

TEST(RotatingFile, RotatesAFileThatWasAlreadyTooLarge) {
    const TemporaryFolder folder;
    folder.write("jobs.log", line('o', 9000));
    RotatingFile file = opened({.path = folder.file("jobs.log"), .size_max = Bytes{8192}});
    file.write("n\n");
    EXPECT_EQ(folder.read("jobs.log.1").size(), 9000U);
    EXPECT_EQ(folder.read("jobs.log"), "n\n");
}

TEST(RotatingFile, KeepsOnlyAsManyOldFilesAsItShould) {
    const TemporaryFolder folder;
    RotatingFile file =
        opened({.path = folder.file("jobs.log"), .size_max = Bytes{8192}, .keep = 2});
    for (const char letter : {'a', 'b', 'c', 'd'}) file.write(line(letter, 8000));
    EXPECT_EQ(folder.read("jobs.log"), line('d', 8000));
    EXPECT_EQ(folder.read("jobs.log.1"), line('c', 8000));
    EXPECT_EQ(folder.read("jobs.log.2"), line('b', 8000));
    EXPECT_FALSE(folder.has("jobs.log.3"));
}

TEST(RotatingFile, StartsAfreshWhenItKeepsNone) {
    const TemporaryFolder folder;
    RotatingFile file =
        opened({.path = folder.file("jobs.log"), .size_max = Bytes{8192}, .keep = 0});
    for (const char letter : {'a', 'b'}) file.write(line(letter, 8000));
    EXPECT_EQ(folder.read("jobs.log"), line('b', 8000));
    EXPECT_FALSE(folder.has("jobs.log.1"));
}

TEST(RotatingFile, KeepsGrowingIfItCantRotate) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder.file("jobs.log.1") + "/in the way");
    RotatingFile file =
        opened({.path = folder.file("jobs.log"), .size_max = Bytes{8192}, .keep = 1});
    for (const char letter : {'a', 'b'})
        EXPECT_EQ(file.write(line(letter, 8000)).bytes, 8000U) << letter;
    EXPECT_THAT(file.rotation_problem(), HasSubstr("can't rotate the log"));
    EXPECT_EQ(folder.read("jobs.log"), line('a', 8000) + line('b', 8000)) << "nothing is lost";

    std::filesystem::remove_all(folder.file("jobs.log.1"));
    file.write(line('c', 8000));
    EXPECT_EQ(file.rotation_problem(), "");
    EXPECT_EQ(folder.read("jobs.log"), line('c', 8000));
}

TEST(RotatingFile, OverwritesNoOldLogThatCantBeMoved) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder.file("jobs.log.2") + "/in the way");
    folder.write("jobs.log.1", "precious\n");
    RotatingFile file =
        opened({.path = folder.file("jobs.log"), .size_max = Bytes{8192}, .keep = 2});
    for (const char letter : {'a', 'b'}) file.write(line(letter, 8000));
    EXPECT_EQ(folder.read("jobs.log.1"), "precious\n");
}

TEST(RotatingFile, IsNotReadableByOthers) {
    const TemporaryFolder folder;
    const mode_t before = ::umask(0);
    {
        RotatingFile file = opened({.path = folder.file("jobs.log"), .size_max = Bytes{8192}});
        for (const char letter : {'a', 'b'}) file.write(line(letter, 8000));
    }
    ::umask(before);
    EXPECT_EQ(mode_of(folder.file("jobs.log")), 0640U);
    EXPECT_EQ(mode_of(folder.file("jobs.log.1")), 0640U);
}

TEST(RotatingFile, RemovesTheRightsOfOthersToAnOldFile) {
    const TemporaryFolder folder;
    folder.write("jobs.log", "");
    ::chmod(folder.file("jobs.log").c_str(), 0666);
    opened({.path = folder.file("jobs.log")});
    EXPECT_EQ(mode_of(folder.file("jobs.log")), 0660U);
}

TEST(RotatingFile, SaysWhyItCantBeOpened) {
    const TemporaryFolder folder;
    const auto file = RotatingFile::open({.path = folder.file("missing/jobs.log")});
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error(), "can't open the log " + folder.file("missing/jobs.log") +
                                ": No such file or directory");
    EXPECT_THAT(RotatingFile::open({.path = folder.file(".")}).error(), HasSubstr("directory"));
}

TEST(RotatingFile, RefusesSizesThatHoldNoLine) {
    const TemporaryFolder folder;
    const std::string path = folder.file("jobs.log");
    EXPECT_THAT(RotatingFile::open({.path = path, .size_max = Bytes{8191}}).error(),
                HasSubstr("at least 8192 bytes"));
    EXPECT_THAT(RotatingFile::open({.path = path, .keep = 101}).error(), HasSubstr("at most 100"));
    EXPECT_FALSE(folder.has("jobs.log"));
}

TEST(RotatingFile, ReportsAFullDisk) {
    RotatingFile file = opened({.path = "/dev/full", .size_max = Bytes{8192}});
    const LogWritten result = file.write(line('a', 5000));
    EXPECT_EQ(result.bytes, 0U);
    EXPECT_EQ(result.error, ENOSPC);
}

TEST(RotatingFile, DoesNotWaitForTheReaderOfAPipe) {
    const TemporaryFolder folder;
    ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
    EXPECT_FALSE(RotatingFile::open({.path = folder.file("pipe")})) << "nobody reads it";
}

TEST(BorrowedDescriptor, WritesWhatItsPipeHoldsAndNoMore) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);  // blocking: a write too many would hang here
    BorrowedDescriptor descriptor({.fd = ends[1], .name = "stdout"});
    const std::string text(1024 * 1024, 'x');
    const LogWritten result = descriptor.write(text);
    EXPECT_EQ(result.error, EAGAIN);
    EXPECT_GE(result.bytes, 4096U);
    EXPECT_LT(result.bytes, text.size());
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST(RotatingFile, MayBeForItsOwnerOnly) {
    const TemporaryFolder folder;
    folder.write("old.log", "old\n");
    ASSERT_EQ(::chmod(folder.file("old.log").c_str(), 0664), 0);
    opened({.path = folder.file("old.log"), .readers = LogFile::Readers::owner});
    EXPECT_EQ(mode_of(folder.file("old.log")), 0600U) << "it was open to others";
    RotatingFile file = opened({.path = folder.file("new.log"),
                                .size_max = Bytes{8192},
                                .readers = LogFile::Readers::owner});
    file.write(line('a', 8192));
    file.write(line('b', 10));
    EXPECT_EQ(mode_of(folder.file("new.log.1")), 0600U);
    EXPECT_EQ(mode_of(folder.file("new.log")), 0600U) << "also after it rotated";
}

}  // namespace
}  // namespace turnpike
