#include "supervisor/native/frame_link.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "os/send.h"
#include "os/shortage.h"

namespace turnpike {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

ssize_t send_piece(int socket, std::string_view bytes, std::string_view more, int descriptor) {
    if (descriptor < 0) return send_some(socket, bytes, more);
    return send_descriptors(socket, bytes, std::span(&descriptor, 1));
}

constexpr Duration short_for = 20ms;  // then we try again

/// True if we lack memory, or too many descriptors are on their way (ETOOMANYREFS).
bool is_shortage(int error) { return error != EAGAIN && shortage_behind(error) != Shortage::none; }

/// True if the worker has nothing to do with the error: its socket is full, or we lack something.
bool is_passing(int error) { return error == EAGAIN || is_shortage(error); }

/// Returns how many descriptors came.
std::size_t take_rights(msghdr& message, std::deque<UniqueFd>& into) {
    std::size_t came = 0;
    for (cmsghdr* rights = CMSG_FIRSTHDR(&message); rights != nullptr;
         rights = CMSG_NXTHDR(&message, rights)) {
        if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int descriptor = -1;
            std::memcpy(&descriptor, CMSG_DATA(rights) + i * sizeof(int), sizeof descriptor);
            into.emplace_back(descriptor);
        }
        came += count;
    }
    return came;
}

}  // namespace

FrameLink::FrameLink(asio::io_context& loop, Wakeups& wakeups, Alarms& alarms, FrameLinkUser& user)
    : wakeups_(wakeups), user_(user), socket_(loop), send_again_(alarms), listen_again_(alarms) {}

FrameLink::~FrameLink() { wakeups_.remove(*this); }

void FrameLink::open(UniqueFd socket) {
    socket_.assign(asio::local::stream_protocol(), socket.release());
    listen();
}

void FrameLink::close() {
    error_code ignored;
    socket_.close(ignored);
    wakeups_.remove(*this);
    send_again_.cancel();
    listen_again_.cancel();
    is_sending_short_ = is_receiving_short_ = false;
    kept_.clear();
    for (UniqueFd& descriptor : descriptors_) close_in_background(std::move(descriptor));
    descriptors_.clear();
}

// ── out ──────────────────────────────────────────────────────────────────────────────────────────

void FrameLink::send(std::string_view bytes, std::string_view more, Attachment attachment) {
    if (!socket_.is_open()) return;
    if (!kept_.empty()) return keep(bytes, more, 0, std::move(attachment));
    const ssize_t sent = send_piece(socket_.native_handle(), bytes, more, attachment.file);
    const int error = sent < 0 ? errno : EAGAIN;
    if (!is_passing(error)) return could_not_send(error);
    if (sent == static_cast<ssize_t>(bytes.size() + more.size())) return;
    keep(bytes, more, sent < 0 ? 0 : static_cast<std::size_t>(sent),
         sent > 0 ? Attachment{} : std::move(attachment));
    wait_to_send(error);
}

/// Handles an error of sending. If the worker is gone, the link stays open, because the worker may
/// have sent frames before; the reading side then finds the end. After any other error the frame is
/// lost, so the link is closed.
void FrameLink::could_not_send(int error) {
    kept_.clear();
    if (error != EPIPE && error != ECONNRESET) break_off(wire::Breach::none);
}

void FrameLink::keep(std::string_view bytes, std::string_view more, std::size_t sent,
                     Attachment attachment) {
    Piece& piece = kept_.emplace_back();
    piece.bytes.reserve(bytes.size() + more.size());
    piece.bytes.append(bytes).append(more);
    piece.sent = sent;
    piece.attachment = std::move(attachment);
}

/// Waits until there is room. If we are short of something, there may be room already: waits a while.
void FrameLink::wait_to_send(int why) {
    is_sending_short_ = why != EAGAIN;
    if (is_sending_short_) return send_again_.set(short_for, [this] { send_kept(); });
    socket_.async_wait(asio::socket_base::wait_write, lifeline_.bind([this](error_code error) {
        if (!error && socket_.is_open()) send_kept();
    }));
}

void FrameLink::send_kept() {
    is_sending_short_ = false;
    while (!kept_.empty()) {
        Piece& piece = kept_.front();
        const ssize_t sent =
            send_piece(socket_.native_handle(), std::string_view(piece.bytes).substr(piece.sent),
                       {}, piece.attachment.file);
        const int error = sent < 0 ? errno : 0;
        if (sent < 0 && !is_passing(error)) return could_not_send(error);
        if (sent < 0) return wait_to_send(error);
        piece.attachment = {};
        piece.sent += static_cast<std::size_t>(sent);
        if (piece.sent == piece.bytes.size()) kept_.pop_front();
    }
}

// ── in ───────────────────────────────────────────────────────────────────────────────────────────

void FrameLink::listen() {
    socket_.async_wait(asio::socket_base::wait_read, lifeline_.bind([this](error_code error) {
        if (!error && socket_.is_open()) receive();
    }));
}

/// Receives once per turn of the loop, so that others get their turn.
void FrameLink::receive() {
    iovec part{bytes_.data(), bytes_.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * descriptors_max)> control;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got =
        ::recvmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const int error = got < 0 ? errno : 0;
    if (is_shortage(error)) return wait_to_receive();
    is_receiving_short_ = false;
    if (error == EINTR || error == EAGAIN) return listen();
    if (got <= 0) return break_off(wire::Breach::none);
    const std::size_t came = take_rights(message, descriptors_);
    // The kernel drops descriptors of a message if it has no room for them, or if we have none.
    const bool was_cut = (message.msg_flags & MSG_CTRUNC) != 0;
    if (was_cut && came < descriptors_max) descriptors_.emplace_back();
    if ((was_cut && came == descriptors_max) || descriptors_.size() > descriptors_max)
        return break_off(wire::Breach::descriptor_unannounced);
    if (take_in(static_cast<std::size_t>(got))) wakeups_.add(*this);
}

/// Waits a while, because we are short of something.
void FrameLink::wait_to_receive() {
    listen_again_.set(short_for, [this] { listen(); });
    if (!std::exchange(is_receiving_short_, true)) user_.could_not_receive();
}

/// Returns false if the link is closed.
bool FrameLink::take_in(std::size_t size) {
    wire::Breach breach = decoder_.push(
        {bytes_.data(), size},
        [this](const wire::WorkerFrame& frame) { return user_.heard(frame) && socket_.is_open(); });
    if (!socket_.is_open()) return false;
    const bool is_one_left = !descriptors_.empty() && decoder_.pending() == 0;
    if (breach == wire::Breach::none && is_one_left) breach = wire::Breach::descriptor_unannounced;
    if (breach == wire::Breach::none) return true;
    break_off(breach);
    return false;
}

std::expected<UniqueFd, FrameLink::NoRoom> FrameLink::take_descriptor() {
    if (descriptors_.empty()) return UniqueFd();
    UniqueFd descriptor = std::move(descriptors_.front());
    descriptors_.pop_front();
    if (!descriptor) return std::unexpected(NoRoom{});
    return descriptor;
}

void FrameLink::break_off(wire::Breach breach) {
    close();
    user_.link_broke(breach, decoder_.kind());
}

}  // namespace turnpike
