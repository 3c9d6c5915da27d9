// The gate is the HTTP front door. It turns requests into events for the engine, and the engine's
// decisions into answers.
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
#include "os/background.h"
#include "os/clock.h"
#include "stream/exchange.h"
#include "telemetry/lane_facts.h"
#include "telemetry/lane_log.h"
#include "telemetry/log_sink.h"
#include "telemetry/pool_facts.h"
#include "telemetry/recent_crashes.h"
#include "telemetry/recent_jobs.h"

namespace turnpike {

struct GateDeps {
    boost::asio::io_context& loop;
    const Config& config;
    const Engine& engine;
    Exchanges& exchanges;
    const Store& store;
    Background& digests;  // a thread of its own, because a digest of a large body takes long
    Clock& clock;
    KeyFile& keys;
    LogSink& log;
    const std::vector<LaneFacts>& lanes;
    const RecentCrashes& crashes;
    std::function<const LaneLog*(std::size_t)> log_of;  // by lane; nullptr if it has no log
    std::function<void(const Event&)> deliver;
    std::uint64_t secret = 0;  // scrambles the names of jobs
    std::function<std::optional<std::string>(LaneId)> dump_stacks = nullptr;  // see OwnRouteDeps
    std::function<const ReloadFacts*(PoolId)> reload_of = nullptr;
    std::function<std::expected<ReloadBegun, std::string>(PoolId, ReloadOrder)> reload = nullptr;
};

class Gate {
public:
    /// `bound` is the address at which clients reach the gate.
    Gate(GateDeps deps, const Address& bound);
    ~Gate();

    void add_connection(Connection::Socket socket, Connection::Peer peer);
    /// Returns true if one more connection fits. If needed, closes the connection that has idled
    /// longest.
    bool make_room();

    void carry_out(const AdmitJob& action);
    void carry_out(const RefuseJob& action);
    void carry_out(const HashJob& action);
    void carry_out(const EndJob& action);
    /// Notes that the job goes to a lane. The supervisor sends it.
    void observe(const SendJob& action);

    /// Closes idle connections now, and the others after their answer.
    void shut_down();
    /// Ends waits that lasted too long and reads changed keys. Must be called a few times a second.
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
    /// Returns why a job of this pool has no answer.
    [[nodiscard]] Objection objection_to(PoolId pool, EndReason reason) const;
    /// Returns the objection to a job that was not run because it equals `first`, which was poison.
    [[nodiscard]] Objection objection_to_known_poison(JobId first) const;
    /// Returns where bodies of jobs for this pool are stored.
    [[nodiscard]] const Store& store_for(PoolId pool) const {
        return deps_.config.pools[pool.value].is_native() ? memory_ : deps_.store;
    }
    std::string_view date();

    GateDeps deps_;
    const Store memory_;  // like deps_.store, but with memfds, which are passed to native workers
    AccessControl access_;
    RequestRouter router_;
    JobNames names_;
    RecentJobs recent_;
    OwnRouteDeps own_route_deps_;
    Timeouts<Connection> timeouts_;
    std::vector<std::shared_ptr<Connection>> by_ticket_;  // index: the low half of a ticket
    std::vector<std::uint32_t> free_places_;
    std::vector<Connection*> by_job_;  // index: the low half of a job's id; ids are dense
    std::size_t connections_ = 0;
    std::uint32_t tickets_ = 0;
    bool is_shutting_down_ = false;
    std::string date_;
    std::int64_t date_second_ = 0;
};

}  // namespace turnpike
