// What all connections of a gate share. The gate owns these parts.
#pragma once

#include <cstdint>
#include <functional>

#include "base/wakeups.h"
#include "config/config.h"
#include "core/event.h"
#include "gate/access.h"
#include "gate/arrival.h"
#include "gate/clients.h"
#include "gate/crowd.h"
#include "gate/http_date.h"
#include "gate/job_name.h"
#include "gate/key_file.h"
#include "gate/key_rates.h"
#include "gate/live_jobs.h"
#include "gate/lost_answers.h"
#include "gate/objections.h"
#include "gate/own_routes.h"
#include "gate/proxies.h"
#include "gate/refusals.h"
#include "gate/timeouts.h"
#include "os/clock.h"
#include "stream/exchange.h"
#include "telemetry/job_archive.h"

namespace turnpike {

class Connection;

/// Whether the gate takes further requests. A stage never goes back.
enum class GateStage : std::uint8_t {
    open,
    closing,  // connections end with the answer that is under way
    over,     // the engine has ended all jobs, and no connection is left
};

struct ConnectionDeps {
    const Config& config;
    const AccessControl& access;
    const TrustedProxies& proxies;
    const RequestRouter& router;
    const KeyFile& key_file;
    const JobNames& names;
    const Objections& objections;
    const OwnRouteDeps& own_routes;
    const std::vector<LaneFacts>& lanes;
    const Store& disk;    // for answers, and for the bodies of HTTP lanes
    const Store& memory;  // with memfds, which are passed to native workers
    Clock& clock;
    HttpDate& date;
    Wakeups& wakeups;
    Exchanges& exchanges;
    LiveJobs<Connection>& live_jobs;
    Clients& clients;
    KeyRates& key_rates;
    Refusals& refusals;
    JobArchive& archive;
    LostAnswers& losses;
    Timeouts<Connection>& timeouts;
    Crowd<Connection>& crowd;          // the clients
    Crowd<Connection>& command_lines;  // which have places of their own
    GateStage stage = GateStage::open;
    std::function<void(const Event&)> deliver;
    std::function<void(Connection&)> closed;  // the connection is still in use when this is called

    [[nodiscard]] AccessControl::Keys keys() const {
        return {.ring = key_file.ring(), .are_required = key_file.is_required()};
    }
    /// Returns where bodies of jobs for this pool are stored.
    [[nodiscard]] const Store& store_for(PoolId pool) const {
        return config.pools[pool.value].is_native() ? memory : disk;
    }
};

}  // namespace turnpike
