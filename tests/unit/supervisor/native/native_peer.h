// A fake native worker: the other end of the gate's socket; the test decides every byte.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "os/file.h"
#include "tests/unit/loop.h"
#include "wire/decode.h"
#include "wire/encode.h"

namespace turnpike {

inline constexpr int all_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

inline UniqueFd make_memfd(std::string_view bytes, int seals = all_seals) {
    UniqueFd file(::memfd_create("native-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, seals), 0);
    return file;
}

inline std::string text_of(const UniqueFd& file) {
    std::string text(4096, '\0');
    const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
    EXPECT_GE(size, 0);
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return text;
}

inline std::string bytes_of(const wire::WorkerFrame& frame) {
    std::string bytes;
    append_frame(bytes, frame);
    return bytes;
}

/// A copy of a job that was received.
struct HeardJob {
    std::uint64_t id = 0;
    std::uint16_t attempt = 0;
    wire::Purpose purpose = wire::Purpose::job;
    std::uint16_t batch_index = 0;
    std::uint16_t batch_size = 0;
    std::string name, method, target, fields, body;
    bool is_in_descriptor = false;
    std::uint64_t length = 0;  // with is_in_descriptor
};

class NativePeer {
public:
    explicit NativePeer(TestLoop& loop) : loop_(loop) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        gate = UniqueFd(ends[0]);
        own = UniqueFd(ends[1]);
    }

    /// Sends all bytes; descriptors go with the first byte. Turns the loop while there is no room.
    void say(std::string_view bytes, const std::vector<int>& descriptors = {}) {
        std::size_t done = 0;
        EXPECT_TRUE(loop_.run_until([&] {
            const ssize_t sent = put(bytes.substr(done), done == 0 ? descriptors : none);
            if (sent < 0) {
                EXPECT_EQ(errno, EAGAIN);
                return errno != EAGAIN;
            }
            done += static_cast<std::size_t>(sent);
            return done == bytes.size();
        }));
    }

    /// Receives at most this many bytes that have arrived; descriptors go to `files`.
    std::string take(std::size_t most) {
        std::string bytes(most, '\0');
        iovec part{bytes.data(), bytes.size()};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 8)> control{};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        const ssize_t got = ::recvmsg(own.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        is_over = is_over || got == 0 || (got < 0 && errno == ECONNRESET);
        bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
        if (got > 0) keep_descriptors(message);
        return bytes;
    }

    /// Receives exactly this many bytes, and waits for them.
    std::string take_all(std::size_t size) {
        std::string bytes;
        EXPECT_TRUE(loop_.run_until([&] {
            while (bytes.size() < size) {
                const std::string more = take(size - bytes.size());
                if (more.empty()) break;
                bytes += more;
            }
            return bytes.size() == size || is_over;
        }));
        return bytes;
    }

    /// Receives all frames that have arrived.
    void hear() {
        for (std::string bytes = take(65536); !bytes.empty(); bytes = take(65536)) {
            const wire::Breach breach = decoder_.push(bytes, [this](const wire::GateFrame& frame) {
                std::visit([this](const auto& one) { note(one); }, frame);
                return true;
            });
            EXPECT_EQ(breach, wire::Breach::none) << sentence_of(breach);
        }
    }

    UniqueFd gate;  // the gate's end, for the object under test
    UniqueFd own;
    bool is_over = false;  // the gate closed its end
    std::deque<UniqueFd> files;
    std::vector<HeardJob> jobs;
    std::vector<std::string> told;  // all other frames, such as "pause 7"

private:
    inline static const std::vector<int> none{};

    ssize_t put(std::string_view bytes, const std::vector<int>& descriptors) const {
        iovec part{const_cast<char*>(bytes.data()), bytes.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        const std::size_t size = descriptors.size() * sizeof(int);
        std::vector<char> control(CMSG_SPACE(size));
        if (size > 0) {
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            cmsghdr* rights = CMSG_FIRSTHDR(&message);
            rights->cmsg_level = SOL_SOCKET;
            rights->cmsg_type = SCM_RIGHTS;
            rights->cmsg_len = CMSG_LEN(size);
            std::memcpy(CMSG_DATA(rights), descriptors.data(), size);
        }
        return ::sendmsg(own.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    }

    void keep_descriptors(msghdr& message) {
        EXPECT_EQ(message.msg_flags & MSG_CTRUNC, 0);
        for (cmsghdr* rights = CMSG_FIRSTHDR(&message); rights != nullptr;
             rights = CMSG_NXTHDR(&message, rights)) {
            int descriptor = -1;
            for (std::size_t at = CMSG_LEN(0); at < rights->cmsg_len; at += sizeof descriptor) {
                std::memcpy(&descriptor, CMSG_DATA(rights) + (at - CMSG_LEN(0)), sizeof descriptor);
                files.emplace_back(descriptor);
            }
        }
    }

    void note(const wire::Job& job) {
        jobs.push_back({.id = job.id,
                        .attempt = job.attempt,
                        .purpose = job.purpose,
                        .batch_index = job.batch_index,
                        .batch_size = job.batch_size,
                        .name = std::string(job.name),
                        .method = std::string(job.method),
                        .target = std::string(job.target),
                        .fields = std::string(job.fields),
                        .body = std::string(job.body.bytes),
                        .is_in_descriptor = job.body.is_in_descriptor,
                        .length = job.body.in_descriptor});
    }
    void note(const wire::Cancel& frame) { told.push_back("cancel " + std::to_string(frame.id)); }
    void note(const wire::Pause& frame) { told.push_back("pause " + std::to_string(frame.id)); }
    void note(const wire::Resume& frame) { told.push_back("resume " + std::to_string(frame.id)); }
    void note(const wire::Welcome& frame) {
        told.push_back("welcome to lane " + std::to_string(frame.lane) + " of " +
                       std::string(frame.pool));
    }
    void note(const wire::Ping& frame) { told.push_back("ping " + std::to_string(frame.id)); }
    void note(const wire::AskStacks& frame) {
        told.push_back("ask_stacks " + std::to_string(frame.id));
    }
    void note(const wire::Stop&) { told.emplace_back("stop"); }

    TestLoop& loop_;
    wire::Decoder<wire::GateFrame> decoder_;
};

}  // namespace turnpike
