// The gate: the HTTP front door. Turns connections into events and the engine's replies into bytes.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "config/config.h"
#include "core/action.h"
#include "core/engine.h"
#include "core/event.h"
#include "gate/access.h"
#include "gate/arrival.h"
#include "gate/connection.h"
#include "gate/job_name.h"
#include "gate/key_file.h"
#include "gate/own_routes.h"
#include "gate/timeouts.h"
#include "os/clock.h"
#include "stream/exchange.h"
#include "telemetry/crash_shelf.h"
#include "telemetry/lane_facts.h"
#include "telemetry/lane_log.h"
#include "telemetry/log_sink.h"
#include "telemetry/pool_facts.h"
#include "telemetry/recent_jobs.h"

namespace turnpike {

struct GateDeps {
    boost::asio::io_context& loop;
    const Config& config;
    const Engine& engine;
    Exchanges& exchanges;
    const Store& store;
    Clock& clock;
    KeyFile& keys;
    LogSink& log;
    const std::vector<LaneFacts>& lanes;
    const CrashShelf& crashes;
    std::function<const LaneLog*(std::size_t)> log_of;  // of a lane; nullptr: it keeps none
    std::function<void(const Event&)> deliver;
    std::uint64_t secret = 0;                                                 // of the job names
    std::function<std::optional<std::string>(LaneId)> dump_stacks = nullptr;  // see OwnRouteDeps
    std::function<const ReloadFacts*(PoolId)> reload_of = nullptr;
    std::function<std::expected<ReloadBegun, std::string>(PoolId, ReloadOrder)> reload = nullptr;
};

class Gate {
public:
    /// `bound`: where clients reach it.
    Gate(GateDeps deps, const Address& bound);
    ~Gate();

    void add_connection(Connection::Socket socket, Connection::Peer peer);
    /// Whether one more connection fits; makes room by closing one that has idled longest.
    bool make_room();

    void carry_out(const AdmitJob& action);
    void carry_out(const RefuseJob& action);
    void carry_out(const EndJob& action);
    /// Only to know: the supervisor sends it.
    void observe(const SendJob& action);

    /// No further requests: idle connections close, the others after their answer.
    void shut_down();
    /// Looks at every wait, and at the keys. Called now and then.
    void tick();

    [[nodiscard]] std::size_t connections() const { return connections_; }

private:
    friend class Connection;

    void forget(Connection& connection);
    void claim(JobId job, Connection& connection);
    void release(JobId job);
    [[nodiscard]] Connection* find(JobId job) const;
    void log_start(const SendJob& action, const Connection& connection);
    void log_end(const JobRecord& record);
    void wait_for(Connection& connection, Wait kind) {
        timeouts_.wait_for(connection, kind, deps_.clock.now());
    }
    [[nodiscard]] AccessControl::Keys keys() const {
        return {.ring = deps_.keys.ring(), .are_required = deps_.keys.is_required()};
    }
    /// Why a job of this pool has no answer, with what a client should know of it.
    [[nodiscard]] Objection objection_to(PoolId pool, EndReason reason,
                                         const AttemptFailure& failure = {}) const;
    /// Where the body of a job for this pool goes.
    [[nodiscard]] const Store& store_for(PoolId pool) const {
        return deps_.config.pools[pool.value].is_native() ? memory_ : deps_.store;
    }
    std::string_view date();

    GateDeps deps_;
    const Store memory_;  // as the other, for bodies that native workers get as they are
    AccessControl access_;
    RequestRouter router_;
    JobNames names_;
    RecentJobs recent_;
    OwnRouteDeps own_route_deps_;
    Timeouts<Connection> timeouts_;
    std::vector<std::shared_ptr<Connection>> by_ticket_;  // the low half of a ticket is a place
    std::vector<std::uint32_t> free_places_;
    std::vector<Connection*> by_job_;  // an id's low half is a dense place
    std::size_t connections_ = 0;
    std::uint32_t tickets_ = 0;
    bool is_shutting_down_ = false;
    std::string date_;
    std::int64_t date_second_ = 0;
};

}  // namespace turnpike
