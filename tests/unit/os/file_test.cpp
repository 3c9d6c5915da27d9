#include "os/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>

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

TEST(UniqueFd, LetsGo) {
    Pipe pipe = make_pipe();
    const int fd = pipe.read.release();
    EXPECT_FALSE(pipe.read);
    pipe.read.reset();
    EXPECT_TRUE(is_open(fd));
    const UniqueFd closes(fd);
    EXPECT_FALSE(UniqueFd());
}

}  // namespace
}  // namespace turnpike
