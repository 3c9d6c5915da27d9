#include "os/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <string>

#include "tests/unit/temporary_folder.h"

namespace turnpike {
namespace {

struct Pipe {
    UniqueFd read, write;
};

Pipe make_pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST(UniqueFd, ClosesWhatItOwns) {
    int fd = -1;
    {
        const Pipe pipe = make_pipe();
        fd = pipe.read.get();
        EXPECT_TRUE(is_open(fd));
    }
    EXPECT_FALSE(is_open(fd));
}

TEST(UniqueFd, MovesItsOwnership) {
    Pipe pipe = make_pipe();
    const int read = pipe.read.get();
    const int write = pipe.write.get();
    pipe.read = std::move(pipe.write);
    EXPECT_FALSE(is_open(read));
    EXPECT_TRUE(is_open(write));
    EXPECT_FALSE(pipe.write);
    EXPECT_EQ(pipe.read.get(), write);
    UniqueFd& self = pipe.read;
    pipe.read = std::move(self);
    EXPECT_TRUE(is_open(write));
}

TEST(UniqueFd, ReleasesItsDescriptor) {
    Pipe pipe = make_pipe();
    const int fd = pipe.read.release();
    EXPECT_FALSE(pipe.read);
    pipe.read.reset();
    EXPECT_TRUE(is_open(fd));
    const UniqueFd closes(fd);
    EXPECT_FALSE(UniqueFd());
}

TEST(ReadFile, ReadsToTheEndHoweverLargeTheFileIs) {
    const TemporaryFolder folder;
    for (const std::size_t size : {0, 1, 16 * 1024, 16 * 1024 + 1, 300'000}) {
        const std::string text(size, 'x');
        folder.write("file", text);
        EXPECT_EQ(read_file(folder.file("file")), text) << size;
    }
}

TEST(ReadFile, ReadsNoMoreThanItsMaximum) {
    const TemporaryFolder folder;
    folder.write("file", "123456");
    EXPECT_EQ(read_file(folder.file("file"), 4), "1234");
    EXPECT_EQ(read_file(folder.file("file"), 6), "123456");
    EXPECT_EQ(read_file(folder.file("file"), 0), "");
}

TEST(ReadFile, SetsErrnoWhenTheFileCantBeRead) {
    const TemporaryFolder folder;
    EXPECT_EQ(read_file(folder.file("missing")), std::nullopt);
    EXPECT_EQ(errno, ENOENT);
    EXPECT_EQ(read_file(folder.file("")), std::nullopt);
    EXPECT_EQ(errno, EISDIR);
}

TEST(WriteAll, WritesEverythingOrSetsErrno) {
    const TemporaryFolder folder;
    const std::string text(300'000, 'x');
    const UniqueFd file(::open(folder.file("file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_TRUE(write_all(file.get(), text));
    EXPECT_EQ(folder.read("file"), text);
    const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    EXPECT_FALSE(write_all(full.get(), "text"));
    EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace turnpike
