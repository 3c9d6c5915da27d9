#include "os/send.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/check.h"

namespace turnpike {

namespace {

constexpr int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
constexpr std::size_t joined_max = 2048;  // beyond this, copying costs more than sending two pieces

ssize_t send_pieces(int socket, std::string_view first, std::string_view second) {
    std::array<iovec, 2> pieces{iovec{const_cast<char*>(first.data()), first.size()},
                                iovec{const_cast<char*>(second.data()), second.size()}};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    return ::sendmsg(socket, &message, flags);
}

ssize_t send_once(int socket, std::string_view first, std::string_view second) {
    if (second.empty()) return ::send(socket, first.data(), first.size(), flags);
    if (first.empty()) return ::send(socket, second.data(), second.size(), flags);
    const std::size_t size = first.size() + second.size();
    if (size > joined_max) return send_pieces(socket, first, second);
    std::array<char, joined_max> joined;
    first.copy(joined.data(), first.size());
    second.copy(joined.data() + first.size(), second.size());
    return ::send(socket, joined.data(), size, flags);
}

}  // namespace

ssize_t send_some(int socket, std::string_view first, std::string_view second) {
    ssize_t sent = -1;
    do sent = send_once(socket, first, second);
    while (sent < 0 && errno == EINTR);
    return sent;
}

ssize_t send_descriptors(int socket, std::string_view bytes, std::span<const int> descriptors) {
    CHECK(!descriptors.empty() && descriptors.size() <= sent_descriptors_max);
    iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * sent_descriptors_max)> room{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
    ssize_t sent = -1;
    do sent = ::sendmsg(socket, &message, flags);
    while (sent < 0 && errno == EINTR);
    return sent;
}

}  // namespace turnpike
