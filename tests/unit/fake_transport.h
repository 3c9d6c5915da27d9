// A transport without a socket: what the test says is what the user reads, and what the user writes
// is what the test hears. Calls wait until the test calls run(), as they wait for the loop otherwise.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "os/socket_transport.h"
#include "os/transport.h"

namespace turnpike {

/// The test's end of a connection. Outlives the transport.
struct FakePeer {
    // what the test sets
    std::string says;                                            // not yet read by the user
    std::optional<InputEnd> end;                                 // after `says` is read
    std::size_t room = std::numeric_limits<std::size_t>::max();  // bytes that write() still takes
    bool is_gone = false;                                        // write() fails
    std::size_t unsent = 0;
    std::optional<ListenerProcess> listener_process;

    // what the user did
    std::string heard;
    bool is_output_ended = false;
    bool is_closed = false;

    // what the user waits for
    TransportUser* user = nullptr;
    std::span<char> into;
    bool is_reading = false;
    bool is_awaiting_input = false;
    bool is_awaiting_room = false;

    [[nodiscard]] bool has_input() const { return !says.empty() || end.has_value(); }

    /// Makes one call that is due. Returns false if none is.
    bool step() {
        if (user == nullptr) return false;
        if (is_awaiting_room && (room > 0 || is_gone)) {
            is_awaiting_room = false;
            user->can_write();
            return true;
        }
        if (is_awaiting_input && has_input()) {
            is_awaiting_input = false;
            user->input_waits();
            return true;
        }
        if (!is_reading || !has_input()) return false;
        is_reading = false;
        if (says.empty()) {
            user->input_ended(*end);
            return true;
        }
        const std::size_t size = std::min(says.size(), into.size());
        says.copy(into.data(), size);
        says.erase(0, size);
        user->bytes_came(size);
        return true;
    }
    void run() {
        while (step()) {
        }
    }
};

class FakeTransport final : public Transport {
public:
    explicit FakeTransport(std::shared_ptr<FakePeer> peer) : peer_(std::move(peer)) {}
    ~FakeTransport() override { close(); }
    FakeTransport(const FakeTransport&) = delete;
    FakeTransport& operator=(const FakeTransport&) = delete;

    void set_user(TransportUser& user) override { peer_->user = &user; }
    void read(std::span<char> into) override {
        CHECK(!peer_->is_reading && !peer_->is_closed && !into.empty());
        peer_->into = into;
        peer_->is_reading = true;
    }
    void await_input() override {
        CHECK(!peer_->is_awaiting_input && !peer_->is_closed);
        peer_->is_awaiting_input = true;
    }
    [[nodiscard]] Unread unread() const override {
        if (!peer_->says.empty()) return Unread::bytes;
        return peer_->end ? Unread::end : Unread::nothing;
    }
    [[nodiscard]] bool has_hung_up() const override { return peer_->end.has_value(); }
    [[nodiscard]] std::optional<ListenerProcess> listener_process() const override {
        return peer_->listener_process;
    }
    [[nodiscard]] std::expected<std::size_t, Unwritten> write(std::string_view first,
                                                              std::string_view second) override {
        CHECK(!peer_->is_closed);
        if (peer_->is_gone) return std::unexpected(Unwritten::gone);
        if (peer_->room == 0) return std::unexpected(Unwritten::full);
        std::string bytes(first);
        bytes.append(second);
        bytes.resize(std::min(bytes.size(), peer_->room));
        peer_->room -= bytes.size();
        peer_->heard += bytes;
        return bytes.size();
    }
    void await_writable() override {
        CHECK(!peer_->is_awaiting_room && !peer_->is_closed);
        peer_->is_awaiting_room = true;
    }
    [[nodiscard]] std::size_t unsent() const override { return peer_->unsent; }
    [[nodiscard]] bool is_dead() const override { return peer_->is_gone; }
    void end_output() override { peer_->is_output_ended = true; }
    void close() override {
        peer_->user = nullptr;
        peer_->is_closed = true;
        peer_->is_reading = peer_->is_awaiting_input = peer_->is_awaiting_room = false;
    }

private:
    std::shared_ptr<FakePeer> peer_;
};

/// A dialer whose connections the test makes.
class FakeDialer final : public Dialer {
    struct FakeCall;

public:
    [[nodiscard]] std::unique_ptr<Call> dial(
        const StreamEndpoint& endpoint, std::move_only_function<void(Connected)> then) override {
        dialed.push_back(endpoint);
        auto call = std::make_unique<FakeCall>(*this);
        call->then = std::move(then);
        calls_.push_back(call.get());
        return call;
    }
    /// Returns how many calls wait for an answer.
    [[nodiscard]] std::size_t waiting() const { return calls_.size(); }
    /// Answers the oldest call: the connection is made. Returns its other end.
    std::shared_ptr<FakePeer> accept(FakePeer from = {}) {
        auto peer = std::make_shared<FakePeer>(std::move(from));
        take()(std::make_unique<FakeTransport>(peer));
        peers.push_back(peer);
        return peer;
    }
    void fail(ConnectFailure why) { take()(std::unexpected(why)); }

    std::vector<StreamEndpoint> dialed;
    std::vector<std::shared_ptr<FakePeer>> peers;  // all that were accepted

private:
    struct FakeCall final : Call {
        explicit FakeCall(FakeDialer& of) : owner(of) {}
        ~FakeCall() override { std::erase(owner.calls_, this); }
        FakeCall(const FakeCall&) = delete;
        FakeCall& operator=(const FakeCall&) = delete;

        FakeDialer& owner;
        std::move_only_function<void(Connected)> then;
    };

    std::move_only_function<void(Connected)> take() {
        CHECK(!calls_.empty());
        auto then = std::move(calls_.front()->then);
        calls_.erase(calls_.begin());
        return then;
    }

    std::vector<FakeCall*> calls_;
};

}  // namespace turnpike
