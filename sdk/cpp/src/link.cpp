#include "link.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "wire/encode.h"

namespace turnpike::inside {

namespace {

constexpr std::size_t buffer_size = 256 * 1024;
constexpr std::size_t descriptors_max = 64;  // in one message
constexpr std::size_t kept_max = 2 * wire::payload_max;

int inherited_socket = -1;  // global, because the fork callback has no argument

using Control = std::array<char, CMSG_SPACE(descriptors_max * sizeof(int))>;

void wait_for(int descriptor, short what) {
    pollfd one{.fd = descriptor, .events = what, .revents = 0};
    ::poll(&one, 1, -1);
}

}  // namespace

void end_process(int status) {
    if (::ftrylockfile(stdout) == 0)
        ::fflush_unlocked(stdout);  // unless another thread is printing
    ::_exit(status);
}

Link::Link(int socket)
    : socket_(socket), interrupt_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), buffer_(buffer_size) {
    ::fcntl(socket, F_SETFD, FD_CLOEXEC);
    inherited_socket = socket;
    ::pthread_atfork(nullptr, nullptr, [] { ::close(inherited_socket); });
}

void Link::send(const wire::WorkerFrame& frame, int descriptor) {
    deliver(frame, descriptor, nullptr);
}

bool Link::send_unless(const std::atomic<bool>& is_over, const wire::WorkerFrame& frame) {
    return deliver(frame, -1, &is_over);
}

bool Link::deliver(const wire::WorkerFrame& frame, int descriptor,
                   const std::atomic<bool>* is_over) {
    thread_local std::string out;
    out.clear();
    wire::append_frame(out, frame);
    std::unique_lock lock(sending_);
    const bool may_send = is_over == nullptr || !*is_over;
    if (may_send) send_bytes(out, descriptor);
    lock.unlock();
    if (out.capacity() > kept_max) out = {};
    return may_send;
}

void Link::send_bytes(std::string_view bytes, int descriptor) {
    while (!bytes.empty()) {
        iovec part{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
        if (descriptor >= 0) {
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            cmsghdr* const rights = CMSG_FIRSTHDR(&message);
            rights->cmsg_level = SOL_SOCKET;
            rights->cmsg_type = SCM_RIGHTS;
            rights->cmsg_len = CMSG_LEN(sizeof(int));
            std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
        }
        const ssize_t sent = ::sendmsg(socket_, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN)
            wait_for(socket_, POLLOUT);
        else if (sent < 0 && errno != EINTR)
            end_process(0);  // the gate is gone
        if (sent <= 0) continue;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
        descriptor = -1;  // it was sent with the first byte
    }
}

Link::Received Link::receive(int flags) {
    iovec part{.iov_base = buffer_.data(), .iov_len = buffer_.size()};
    alignas(cmsghdr) Control control;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ssize_t got = 0;
    while ((got = ::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC | flags)) < 0) {
        if (errno == EAGAIN && flags != 0) return Received::nothing;
        if (errno == EAGAIN)
            wait_for(socket_, POLLIN);
        else if (errno != EINTR)
            return Received::closed;
        message.msg_controllen = control.size();
    }
    for (cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one)) {
        if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
        for (std::size_t at = 0; at + sizeof(int) <= one->cmsg_len - CMSG_LEN(0);
             at += sizeof(int)) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(one) + at, sizeof(int));
            descriptors_.emplace_back(number);
        }
    }
    if ((message.msg_flags & MSG_CTRUNC) != 0) has_lost_descriptors_ = true;
    filled_ = static_cast<std::size_t>(got);
    return got == 0 ? Received::closed : Received::bytes;
}

Link::Received Link::try_receive() {
    pollfd one{.fd = socket_, .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, 0) > 0 ? receive(MSG_DONTWAIT) : Received::nothing;
}

bool Link::wait() const {
    std::array<pollfd, 2> both{{{.fd = socket_, .events = POLLIN, .revents = 0},
                                {.fd = interrupt_.number(), .events = POLLIN, .revents = 0}}};
    while (::poll(both.data(), both.size(), -1) < 0) {
    }
    if (both[1].revents == 0) return true;
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(interrupt_.number(), &count, sizeof count);
    return false;
}

void Link::interrupt() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(interrupt_.number(), &one, sizeof one);
}

Descriptor Link::next_descriptor() {
    Descriptor next = std::move(descriptors_.front());
    descriptors_.pop_front();
    return next;
}

}  // namespace turnpike::inside
