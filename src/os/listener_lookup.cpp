#include "os/listener_lookup.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

#include "os/file.h"

namespace turnpike {
namespace {

struct Question {
    nlmsghdr head;
    inet_diag_req_v2 request;
};
struct Answer {
    nlmsghdr head;
    inet_diag_msg listener;
};

/// Puts the address and the port (in the byte order of the network) where the request wants them.
/// Returns false if this is not TCP.
bool take_address(const StreamEndpoint& endpoint, inet_diag_req_v2& request) {
    sockaddr_storage address{};
    std::memcpy(&address, endpoint.data(), std::min(endpoint.size(), sizeof address));
    request.sdiag_family = static_cast<std::uint8_t>(address.ss_family);
    if (address.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
        request.id.idiag_sport = v4.sin_port;
        std::memcpy(request.id.idiag_src, &v4.sin_addr, sizeof v4.sin_addr);
        return true;
    }
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    request.id.idiag_sport = v6.sin6_port;
    std::memcpy(request.id.idiag_src, &v6.sin6_addr, sizeof v6.sin6_addr);
    return address.ss_family == AF_INET6;
}

class Lookup {
public:
    /// Asks who would take a connection from the address 0 and some port. No connection comes from
    /// there, so the kernel finds the listener, by the rules that hold for every connection.
    std::optional<ListenerId> ask(const StreamEndpoint& endpoint) {
        Question question{};
        question.head = {.nlmsg_len = sizeof question,
                         .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                         .nlmsg_flags = NLM_F_REQUEST,
                         .nlmsg_seq = ++asked_,
                         .nlmsg_pid = 0};
        question.request.sdiag_protocol = IPPROTO_TCP;
        question.request.idiag_states = ~0U;
        question.request.id.idiag_cookie[0] = question.request.id.idiag_cookie[1] =
            INET_DIAG_NOCOOKIE;
        question.request.id.idiag_dport = htons(static_cast<std::uint16_t>(asked_));
        if (!take_address(endpoint, question.request)) return std::nullopt;
        if (::send(socket_.get(), &question, sizeof question, 0) < 0) return std::nullopt;
        return answer();
    }

private:
    /// Reads the answer, which is there at once. Skips answers to earlier questions.
    std::optional<ListenerId> answer() {
        alignas(Answer) char bytes[1024];
        for (;;) {
            const ssize_t size = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
            if (size < static_cast<ssize_t>(sizeof(nlmsghdr))) return std::nullopt;
            Answer answer{};
            std::memcpy(&answer, bytes, std::min(static_cast<std::size_t>(size), sizeof answer));
            if (answer.head.nlmsg_seq != asked_) continue;
            if (answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
                answer.listener.idiag_state != TCP_LISTEN)
                return std::nullopt;
            return ListenerId{.number = answer.listener.idiag_inode,
                              .owner = answer.listener.idiag_uid};
        }
    }

    UniqueFd socket_{::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)};
    std::uint32_t asked_ = 0;
};

}  // namespace

ListenerAt make_listener_lookup() {
    return [lookup = std::make_shared<Lookup>()](const StreamEndpoint& endpoint) {
        return lookup->ask(endpoint);
    };
}

}  // namespace turnpike
