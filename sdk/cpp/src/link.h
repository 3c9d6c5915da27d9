// The socket to the gate: bytes and descriptors in, frames out. Any thread may send; one at a time
// receives. The gate's end is an answer of receive(); to a sender it is the end of the process.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <string_view>
#include <vector>

#include "sealed.h"
#include "wire/frame.h"

namespace turnpike::inside {

/// Ends the process at once, whatever its threads do.
[[noreturn]] void end_process(int status);

class Link {
public:
    /// `socket` is not passed on to what this process starts or forks.
    explicit Link(int socket);

    void send(const wire::WorkerFrame& frame, int descriptor = -1);
    /// Asks `is_over` once nobody else sends: whoever sets it and sends a last frame has the last word.
    /// False: nothing was sent.
    bool send_unless(const std::atomic<bool>& is_over, const wire::WorkerFrame& frame);

    enum class Received { bytes, nothing, closed };
    /// Waits for bytes. They live until the next call.
    Received receive() { return receive(0); }
    /// What is there already.
    Received try_receive();
    /// Until try_receive() would find something, or interrupt(): then false.
    [[nodiscard]] bool wait() const;
    void interrupt() const;
    [[nodiscard]] std::string_view bytes() const { return {buffer_.data(), filled_}; }

    /// The descriptors that have come, in their order; the next one that a frame announces.
    [[nodiscard]] bool has_descriptor() const { return !descriptors_.empty(); }
    Descriptor next_descriptor();
    /// More came at once than any frame announces.
    [[nodiscard]] bool has_lost_descriptors() const { return has_lost_descriptors_; }

private:
    Received receive(int flags);
    bool deliver(const wire::WorkerFrame& frame, int descriptor, const std::atomic<bool>* is_over);
    void send_bytes(std::string_view bytes, int descriptor);  // under sending_

    int socket_;
    Descriptor interrupt_;
    std::mutex sending_;
    std::vector<char> buffer_;
    std::size_t filled_ = 0;
    std::deque<Descriptor> descriptors_;
    bool has_lost_descriptors_ = false;
};

}  // namespace turnpike::inside
