// Whether several clients use a pool, so that one has to be protected from another.
#pragma once

#include "base/time.h"
#include "core/settings.h"
#include "core/words.h"

namespace turnpike {

class RecentClients {
public:
    /// Must be called when a job of the client is queued.
    void saw(ClientId client, Instant now) {
        if (client != latest_) {
            another_at_ = latest_at_;
            latest_ = client;
        }
        latest_at_ = now;
    }

    /// True if two clients were seen within recent_clients_keep.
    [[nodiscard]] bool are_several(Instant now) const {
        return another_at_ != Instant::min() && now - another_at_ < recent_clients_keep;
    }

private:
    ClientId latest_;
    Instant latest_at_ = Instant::min();
    Instant another_at_ = Instant::min();  // when another client than the latest was last seen
};

}  // namespace turnpike
