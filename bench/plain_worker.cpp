// An HTTP server that answers every request at once with the same few bytes, so that a benchmark
// measures what stands in front of it. It has a thread per connection and blocking sockets.
//
//   plain_worker PORT
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace {

constexpr std::string_view answer =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n"
    "{\"answer\": 42}\n";

/// Returns the size of the first whole request in `bytes`, or 0 if there is none yet.
std::size_t request_size(std::string_view bytes) {
    const std::size_t head = bytes.find("\r\n\r\n");
    if (head == std::string_view::npos) return 0;
    std::size_t length = 0;
    for (const std::string_view name : {"Content-Length: ", "content-length: "})
        if (const std::size_t at = bytes.substr(0, head).find(name); at != std::string_view::npos)
            length = std::strtoul(bytes.data() + at + name.size(), nullptr, 10);
    const std::size_t size = head + 4 + length;
    return size <= bytes.size() ? size : 0;
}

void serve(int client) {
    std::string bytes;
    char piece[16 * 1024];
    for (ssize_t got = 0; (got = ::read(client, piece, sizeof piece)) > 0;) {
        bytes.append(piece, static_cast<std::size_t>(got));
        while (const std::size_t size = request_size(bytes)) {
            bytes.erase(0, size);
            if (::write(client, answer.data(), answer.size()) < 0) break;
        }
    }
    ::close(client);
}

}  // namespace

int main(int argc, char** argv) {
    const int port = argc == 2 ? std::atoi(argv[1]) : 0;
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (port == 0 || ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener, SOMAXCONN) != 0) {
        std::fputs("plain_worker: needs a free PORT\n", stderr);
        return 2;
    }
    for (;;) {
        const int client = ::accept(listener, nullptr, nullptr);
        if (client < 0) continue;
        ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        std::thread(serve, client).detach();
    }
}
