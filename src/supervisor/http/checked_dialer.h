// Connects to a worker that we started, and makes sure that the worker got the connection: another
// program may have taken its port since it came up, and must not get jobs.
//
//   dialing ─▶ connected ─▶ to a listener that is known as the worker's ───▶ done
//      ▲            └─▶ to another one ─▶ a look at the process tree ─┬─────▶ failed: a stranger's
//      └────────── the worker has made a new listener ────────────────┘
//
// It is dialed again because the first connection may have gone to a stranger who is gone by the time
// of the look. The look takes milliseconds and is made by the owner, on another thread; calls that wait
// for one share it. A connection to a known listener costs one question to the kernel.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "os/ports.h"
#include "os/socket_transport.h"

namespace turnpike {

class CheckedDialer final : public Dialer {
public:
    struct Eyes {
        /// Returns the listener that has this connection. Nullopt if the kernel does not say.
        std::function<std::optional<ListenerId>(const StreamEndpoint&, const Transport&)> listener;
        /// Finds out whose listener it is. Must call back from the loop, later, or never.
        std::function<void(std::optional<ListenerId>, std::function<void(const PortStatus&)>)> look;
    };

    CheckedDialer(Dialer& dialer, Eyes eyes);
    ~CheckedDialer() override;
    CheckedDialer(const CheckedDialer&) = delete;
    CheckedDialer& operator=(const CheckedDialer&) = delete;

    /// From now on these listeners are the worker's, and no others.
    void know(std::vector<ListenerId> listeners) { known_ = std::move(listeners); }

    [[nodiscard]] std::unique_ptr<Call> dial(
        const StreamEndpoint& endpoint, std::move_only_function<void(Connected)> then) override;

private:
    class CheckedCall;

    [[nodiscard]] bool knows(const ListenerId& listener) const;
    void await_look(CheckedCall& call, std::optional<ListenerId> listener);
    void looked(const PortStatus& status);

    Dialer& dialer_;
    const Eyes eyes_;
    std::vector<ListenerId> known_;
    std::vector<CheckedCall*> waiting_;  // for the look that is under way; some may be gone by then
    enum class Look : std::uint8_t { none, under_way } look_ = Look::none;
};

}  // namespace turnpike
