#include "os/send.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "os/file.h"

namespace turnpike {
namespace {

struct Pair {
    Pair() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        ours = UniqueFd(ends[0]);
        theirs = UniqueFd(ends[1]);
    }

    [[nodiscard]] std::string received() const {
        std::string bytes(1 << 20, '\0');
        const ssize_t size = ::recv(theirs.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        bytes.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
        return bytes;
    }

    UniqueFd ours;
    UniqueFd theirs;
};

TEST(Send, SendsTheSecondAfterTheFirstHoweverLongTheyAre) {
    for (const std::size_t first : {0, 1, 1000, 2047, 2048, 5000})
        for (const std::size_t second : {0, 1, 1048, 5000}) {
            if (first + second == 0) continue;
            const Pair pair;
            const std::string a(first, 'a');
            const std::string b(second, 'b');
            EXPECT_EQ(send_some(pair.ours.get(), a, b), static_cast<ssize_t>(first + second));
            EXPECT_EQ(pair.received(), a + b);
        }
}

TEST(Send, ReportsAFullSocketAndDoesNotWait) {
    const Pair pair;
    const std::string much(1 << 16, 'x');
    while (send_some(pair.ours.get(), much, much) > 0) {
    }
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_EQ(send_some(pair.ours.get(), "a", "b"), -1);
    EXPECT_EQ(errno, EAGAIN);
}

TEST(Send, ReportsAPeerThatIsGoneWithoutASignal) {
    Pair pair;
    pair.theirs.reset();
    for (const std::size_t size : {1, 5000}) {
        EXPECT_EQ(send_some(pair.ours.get(), std::string(size, 'a'), "b"), -1);
        EXPECT_EQ(errno, EPIPE);
    }
    EXPECT_EQ(send_some(-1, "a", {}), -1);
    EXPECT_EQ(errno, EBADF);
}

TEST(Send, HandsDescriptorsOver) {
    for (std::size_t count = 1; count <= sent_descriptors_max; ++count) {
        const Pair pair;
        const std::vector<int> sent(count, pair.ours.get());
        ASSERT_EQ(send_descriptors(pair.ours.get(), "bytes", sent), 5);
        std::array<char, 16> bytes{};
        iovec piece{bytes.data(), bytes.size()};
        alignas(cmsghdr) std::array<char, 256> control{};
        msghdr message{};
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        ASSERT_EQ(::recvmsg(pair.theirs.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC), 5);
        EXPECT_STREQ(bytes.data(), "bytes");
        cmsghdr* rights = CMSG_FIRSTHDR(&message);
        ASSERT_NE(rights, nullptr);
        EXPECT_EQ(rights->cmsg_type, SCM_RIGHTS);
        ASSERT_EQ(rights->cmsg_len, CMSG_LEN(count * sizeof(int)));
        for (std::size_t i = 0; i < count; ++i) {
            int descriptor = -1;
            std::memcpy(&descriptor, CMSG_DATA(rights) + i * sizeof(int), sizeof descriptor);
            EXPECT_GE(UniqueFd(descriptor).get(), 0);
        }
    }
}

}  // namespace
}  // namespace turnpike
