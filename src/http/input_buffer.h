// The bytes of one connection that have come and were not taken yet, in one piece. Its memory is
// bounded: by the larger of the two sizes that its owner names, whatever comes.
//
//   const std::span<char> room = buffer.room({.if_empty = 4096, .most = 65536});
//   buffer.came(read(socket, room));
//   buffer.take(parse(buffer.bytes()));
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace turnpike::http {

class InputBuffer {
public:
    struct Sizes {
        std::size_t if_empty = 0;  // the size of an empty buffer; must not be 0
        std::size_t most = 0;      // up to this size a full buffer grows
    };

    /// Returns where the next bytes must be put. Empty if the buffer is full. Views of the bytes
    /// become invalid.
    ///
    /// An empty buffer first gets the size that was named, larger or smaller. If there is no room
    /// behind the bytes, they move to the front; if they are there already, the buffer grows.
    std::span<char> room(const Sizes& sizes);
    /// Must be called when this many bytes were put into room().
    void came(std::size_t size);

    /// Returns the bytes that were not taken yet. Valid until the next room().
    [[nodiscard]] std::string_view bytes() const {
        return {memory_.data() + begin_, end_ - begin_};
    }
    [[nodiscard]] bool empty() const { return begin_ == end_; }
    /// True if no byte can come before some are taken or moved.
    [[nodiscard]] bool is_filled() const { return end_ == memory_.size(); }
    void take(std::size_t size);
    void take_all() { begin_ = end_; }

    /// Drops all bytes. Gives the memory back if there is more of it than `kept`.
    void clear(std::size_t kept);

private:
    std::string memory_;
    std::size_t begin_ = 0;  // bytes before this one are taken
    std::size_t end_ = 0;    // bytes from this one on are free
};

}  // namespace turnpike::http
