// The socket to the gate: receives bytes and descriptors, and sends frames. Any thread may send.
// Only one thread at a time may receive. If the gate is gone, receive() returns `closed`, and a
// send ends the process.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <string_view>
#include <vector>

#include "sealed.h"
#include "wire/frame.h"

namespace turnpike::inside {

/// Ends the process at once, without waiting for its threads.
[[noreturn]] void end_process(int status);

class Link {
public:
    /// Makes sure that no process that this one starts or forks inherits `socket`.
    explicit Link(int socket);

    void send(const wire::WorkerFrame& frame, int descriptor = -1);
    /// Sends the frame unless `is_over` is set. Reads `is_over` under the lock of send(). So a
    /// thread that sets `is_over` and then sends a last frame can be sure that no frame follows.
    /// Returns false if nothing was sent.
    bool send_unless(const std::atomic<bool>& is_over, const wire::WorkerFrame& frame);

    enum class Received { bytes, nothing, closed };
    /// Waits for bytes. bytes() returns them until the next call.
    Received receive() { return receive(0); }
    /// Receives what has already come, without waiting.
    Received try_receive();
    /// Waits until try_receive() would find something. Returns false if interrupt() was called.
    [[nodiscard]] bool wait() const;
    void interrupt() const;
    [[nodiscard]] std::string_view bytes() const { return {buffer_.data(), filled_}; }

    /// The descriptors that have come and that no frame has used yet, in order.
    [[nodiscard]] bool has_descriptor() const { return !descriptors_.empty(); }
    Descriptor next_descriptor();
    /// True if so many descriptors came at once that some were lost.
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
