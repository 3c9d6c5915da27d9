#include "cli/control_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include "config/units.h"
#include "http/body_decoder.h"
#include "http/response_parser.h"
#include "http/write.h"
#include "os/file.h"
#include "os/gate_name.h"

namespace turnpike {
namespace {

using Clock = std::chrono::steady_clock;
using Wrong = std::unexpected<std::string>;

std::string reason() { return std::strerror(errno); }

/// A socket, and the time until which the gate must have answered.
struct Connection {
    UniqueFd socket;
    Clock::time_point deadline;
    Duration timeout;

    [[nodiscard]] Wrong too_late() const {
        return Wrong("did not answer within " + text_of(timeout));
    }

    /// Returns false if the time is over.
    [[nodiscard]] bool wait_for(short what) const {
        for (;;) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
            if (left.count() <= 0) return false;
            pollfd one{.fd = socket.get(), .events = what, .revents = 0};
            const int found = ::poll(&one, 1, static_cast<int>(left.count()));
            // An error of poll() shows again in send() or recv().
            if (found > 0 || (found < 0 && errno != EINTR)) return true;
        }
    }
};

std::expected<Connection, std::string> connect_to(const std::string& path, Duration timeout) {
    Connection connection{
        .socket = connect_unix(path), .deadline = Clock::now() + timeout, .timeout = timeout};
    if (connection.socket) return connection;
    if (errno == ENAMETOOLONG)
        return Wrong("can't be reached: the path of its socket is too long: " + path);
    if (errno == EAGAIN) return Wrong("is too busy to take a connection");
    return Wrong("can't be reached at " + path + ": " + reason());
}

std::expected<void, std::string> send_all(const Connection& connection, std::string_view bytes) {
    while (!bytes.empty()) {
        if (!connection.wait_for(POLLOUT)) return connection.too_late();
        const ssize_t sent =
            ::send(connection.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent >= 0)
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        else if (errno != EAGAIN && errno != EINTR)
            return Wrong("closed the connection: " + reason());
    }
    return {};
}

/// Returns the next bytes. Empty at the end of the stream.
std::expected<std::string_view, std::string> receive(const Connection& connection,
                                                     std::array<char, 16384>& room) {
    for (;;) {
        if (!connection.wait_for(POLLIN)) return connection.too_late();
        const ssize_t size = ::recv(connection.socket.get(), room.data(), room.size(), 0);
        if (size >= 0) return std::string_view(room.data(), static_cast<std::size_t>(size));
        if (errno != EAGAIN && errno != EINTR) return Wrong("closed the connection: " + reason());
    }
}

/// Puts an answer together from the pieces that arrive.
class AnswerReader {
public:
    AnswerReader(http::Method asked, Bytes body_max) : asked_(asked), body_max_(body_max) {}

    [[nodiscard]] bool is_complete() const { return complete_; }
    [[nodiscard]] ControlAnswer take() { return std::move(answer_); }

    std::expected<void, std::string> add(std::string_view bytes) {
        if (has_head_) return add_body(bytes);
        head_.append(bytes);
        return add_head();
    }

    std::expected<void, std::string> end() {
        if (!has_head_ || decoder_.end() != http::Progress::done)
            return Wrong("closed the connection in the middle of its answer");
        complete_ = true;
        return {};
    }

private:
    std::expected<void, std::string> add_head() {
        const http::Progress progress = parser_.parse(head_, asked_);
        if (progress == http::Progress::more) return {};
        if (progress == http::Progress::fault) return no_http(parser_.fault());
        const http::ResponseHead& head = parser_.head();
        const std::string rest = head_.substr(parser_.size());
        if (head.is_interim()) {
            parser_.reset();
            head_ = rest;
            return head_.empty() ? std::expected<void, std::string>{} : add_head();
        }
        answer_.status = head.status;
        decoder_ = http::BodyDecoder(head.framing, head.length, limits_);
        has_head_ = true;
        return add_body(rest);
    }

    std::expected<void, std::string> add_body(std::string_view bytes) {
        for (;;) {
            const http::BodyDecoder::Step step = decoder_.next(bytes);
            if (step.progress == http::Progress::fault) return no_http(decoder_.fault());
            if (answer_.body.size() + step.data.size() > body_max_.count)
                return Wrong("answered with more than " + text_of(body_max_));
            answer_.body.append(step.data);
            bytes.remove_prefix(step.consumed);
            complete_ = step.progress == http::Progress::done;
            if (complete_ || step.consumed == 0) return {};
        }
    }

    static Wrong no_http(http::Fault fault) {
        return Wrong("did not answer in HTTP: " + std::string(http::sentence_of(fault)));
    }

    http::Method asked_;
    Bytes body_max_;
    http::Limits limits_;
    http::ResponseParser parser_{limits_};
    http::BodyDecoder decoder_;
    std::string head_;
    bool has_head_ = false;
    bool complete_ = false;
    ControlAnswer answer_;
};

std::string text_of(const ControlRequest& request) {
    std::string text;
    http::append_request_line(text, request.method, request.target);
    http::append_field(text, "Host", "localhost");
    http::append_field(text, "Connection", "close");
    return text + "\r\n";
}

}  // namespace

std::expected<ControlAnswer, std::string> ask(const std::string& socket_path,
                                              const ControlRequest& request,
                                              const ControlLimits& limits) {
    const auto connection = connect_to(socket_path, limits.timeout);
    if (!connection) return Wrong(connection.error());
    if (auto sent = send_all(*connection, text_of(request)); !sent) return Wrong(sent.error());
    AnswerReader reader(request.method, limits.body_max);
    std::array<char, 16384> room;
    while (!reader.is_complete()) {
        const auto bytes = receive(*connection, room);
        if (!bytes) return Wrong(bytes.error());
        const auto taken = bytes->empty() ? reader.end() : reader.add(*bytes);
        if (!taken) return Wrong(taken.error());
    }
    return reader.take();
}

}  // namespace turnpike
