// The socket of a native worker: sends and receives frames, with descriptors beside them for large
// bodies. It does not know what the frames mean.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "base/lifeline.h"
#include "base/wakeups.h"
#include "os/alarm.h"
#include "os/file.h"
#include "os/socket_transport.h"
#include "wire/decode.h"

namespace turnpike {

class FrameLinkUser {
public:
    /// Called for each frame. Must return false if later frames are not wanted.
    virtual bool heard(const wire::WorkerFrame& frame) = 0;
    /// Called when the link broke and is closed. `breach` is none if the worker closed the socket
    /// or a frame could not be sent; otherwise `kind` is the kind of the frame that broke the
    /// protocol.
    virtual void link_broke(wire::Breach breach, std::uint8_t kind) = 0;
    /// Called when nothing can be received any more because of what we lack: from now on is_short()
    /// is true until it works again.
    virtual void could_not_receive() {}

protected:
    ~FrameLinkUser() = default;
};

class FrameLink final : private Sleeper {
public:
    FrameLink(boost::asio::io_context& loop, Wakeups& wakeups, Alarms& alarms, FrameLinkUser& user);
    ~FrameLink();

    void open(UniqueFd socket);
    /// Closes the socket. The user gets no more calls, nor after the link was destroyed.
    void close();
    /// Closes the socket and tells the user why.
    void break_off(wire::Breach breach);
    [[nodiscard]] bool is_open() const { return socket_.is_open(); }
    /// True if frames wait because of what we lack: the worker has not got ours yet, or its own lie
    /// unread. So its silence says nothing.
    [[nodiscard]] bool is_short() const { return is_sending_short_ || is_receiving_short_; }

    /// A file that goes with a frame. Whoever holds `owner` keeps it open.
    struct Attachment {
        int file = -1;
        std::shared_ptr<const void> owner = nullptr;
    };
    /// Sends whole frames. The file goes with the first byte. Bytes are copied, and the owner of the
    /// file is kept, only if the worker does not take them at once.
    void send(std::string_view bytes, std::string_view more, Attachment attachment);
    void send(std::string_view bytes, std::string_view more = {}) { send(bytes, more, {}); }
    /// Why there is no descriptor: the worker sent one, but we may open no more files.
    struct NoRoom {};
    /// Returns the descriptor that came with the current frame. Empty if the worker sent none.
    [[nodiscard]] std::expected<UniqueFd, NoRoom> take_descriptor();

private:
    struct Piece {
        std::string bytes;
        Attachment attachment;
        std::size_t sent = 0;
    };
    static constexpr std::size_t read_size = 32 * std::size_t{1024};  // per turn of the loop
    static constexpr std::size_t descriptors_max = 16;

    void keep(std::string_view bytes, std::string_view more, std::size_t sent,
              Attachment attachment);
    void could_not_send(int error);
    void wait_to_send(int why);
    void send_kept();
    void listen();
    /// Listens again. To wait is a system call, so it comes after the turn's jobs have been sent.
    void wake() override { listen(); }
    void receive();
    void wait_to_receive();
    [[nodiscard]] bool take_in(std::size_t size);

    Wakeups& wakeups_;
    FrameLinkUser& user_;
    SocketOf<boost::asio::local::stream_protocol> socket_;
    std::deque<Piece> kept_;
    wire::Decoder<wire::WorkerFrame> decoder_;
    std::deque<UniqueFd> descriptors_;  // an empty one was lost, because we may open no more files
    std::array<char, read_size> bytes_;
    bool is_sending_short_ = false;
    bool is_receiving_short_ = false;
    Alarm send_again_;
    Alarm listen_again_;
    Lifeline lifeline_;  // the loop may still hold callbacks of a link that was destroyed
};

}  // namespace turnpike
