// The socket of a native worker: frames go out, with descriptors beside them where bodies are large, and
// come in. What the frames mean is not its business.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "os/file.h"
#include "wire/decode.h"

namespace turnpike {

class FrameLinkUser {
public:
    /// False: the rest is of no interest.
    virtual bool heard(const wire::WorkerFrame& frame) = 0;
    /// The link is closed. `kind`: of the frame that broke the protocol; none: the worker closed it.
    virtual void link_broke(wire::Breach breach, std::uint8_t kind) = 0;

protected:
    ~FrameLinkUser() = default;
};

class FrameLink : public std::enable_shared_from_this<FrameLink> {
public:
    FrameLink(boost::asio::io_context& loop, FrameLinkUser& user);

    void open(UniqueFd socket);
    /// Nothing more is heard.
    void close();
    /// The same, and the user hears why.
    void break_off(wire::Breach breach);
    [[nodiscard]] bool is_open() const { return socket_.is_open(); }

    /// Whole frames. The bytes are copied only if the worker does not take them at once; so is the
    /// descriptor, which goes with the first of them.
    void send(std::string_view bytes, std::string_view more = {}, int descriptor = -1);
    /// The descriptor that came with the frame that is heard now; none: the worker sent none.
    [[nodiscard]] UniqueFd take_descriptor();

private:
    struct Piece {
        std::string bytes;
        UniqueFd descriptor;
        std::size_t sent = 0;
    };
    static constexpr std::size_t read_size = 32 * std::size_t{1024};  // in a turn of the loop
    static constexpr std::size_t descriptors_max = 16;

    void keep(std::string_view bytes, std::string_view more, std::size_t sent, int descriptor);
    void could_not_send(int error);
    void wait_to_send();
    void send_kept();
    void listen();
    void receive();
    [[nodiscard]] bool take_in(std::size_t size);

    FrameLinkUser& user_;
    boost::asio::local::stream_protocol::socket socket_;
    std::deque<Piece> kept_;
    wire::Decoder<wire::WorkerFrame> decoder_;
    std::deque<UniqueFd> descriptors_;
    std::array<char, read_size> bytes_;
};

}  // namespace turnpike
