#include "supervisor/http/checked_dialer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace turnpike {

namespace {

constexpr int looks_max = 3;  // for one call; a listener that changes more often is no listener

}  // namespace

class CheckedDialer::CheckedCall final : public Dialer::Call {
public:
    CheckedCall(CheckedDialer& owner, const StreamEndpoint& endpoint,
                std::move_only_function<void(Connected)> then)
        : owner_(owner), endpoint_(endpoint), then_(std::move(then)) {}
    ~CheckedCall() override { std::erase(owner_.waiting_, this); }
    CheckedCall(const CheckedCall&) = delete;
    CheckedCall& operator=(const CheckedCall&) = delete;

    void dial() {
        inner_ =
            owner_.dialer_.dial(endpoint_, [this](Connected made) { connected(std::move(made)); });
    }

    void looked(const PortStatus& status) {
        switch (status.holder) {
            case PortStatus::Holder::nobody: return end(std::unexpected(ConnectFailure::refused));
            case PortStatus::Holder::stranger:
                return end(std::unexpected(ConnectFailure::stranger));
            case PortStatus::Holder::unknown: return end(std::unexpected(ConnectFailure::shortage));
            case PortStatus::Holder::tree: break;
        }
        if (unnamed_ != nullptr) return end(std::move(unnamed_));
        ++looks_ == looks_max ? end(std::unexpected(ConnectFailure::stranger)) : dial();
    }

private:
    void connected(Connected made) {
        if (!made) return end(std::move(made));
        const std::optional<ListenerId> listener = owner_.eyes_.listener(endpoint_, **made);
        if (listener && owner_.knows(*listener)) return end(std::move(made));
        if (!listener) unnamed_ = *std::move(made);
        owner_.await_look(*this, listener);
    }
    /// The caller may destroy this call now.
    void end(Connected made) { std::exchange(then_, nullptr)(std::move(made)); }

    CheckedDialer& owner_;
    const StreamEndpoint endpoint_;
    std::move_only_function<void(Connected)> then_;
    std::unique_ptr<Call> inner_;
    TransportPtr unnamed_;  // a connection of which the kernel does not say whose it is
    int looks_ = 0;
};

CheckedDialer::CheckedDialer(Dialer& dialer, Eyes eyes) : dialer_(dialer), eyes_(std::move(eyes)) {}

CheckedDialer::~CheckedDialer() { CHECK(waiting_.empty()); }

std::unique_ptr<Dialer::Call> CheckedDialer::dial(const StreamEndpoint& endpoint,
                                                  std::move_only_function<void(Connected)> then) {
    auto call = std::make_unique<CheckedCall>(*this, endpoint, std::move(then));
    call->dial();
    return call;
}

bool CheckedDialer::knows(const ListenerId& listener) const {
    return std::ranges::find(known_, listener) != known_.end();
}

void CheckedDialer::await_look(CheckedCall& call, std::optional<ListenerId> listener) {
    waiting_.push_back(&call);
    if (std::exchange(look_, Look::under_way) == Look::under_way) return;
    eyes_.look(listener, [this](const PortStatus& status) { looked(status); });
}

/// A call that is destroyed meanwhile leaves the list by itself.
void CheckedDialer::looked(const PortStatus& status) {
    look_ = Look::none;
    if (status.holder == PortStatus::Holder::tree) known_ = status.listeners;
    while (!waiting_.empty()) {
        CheckedCall* const call = waiting_.back();
        waiting_.pop_back();
        call->looked(status);
    }
}

}  // namespace turnpike
