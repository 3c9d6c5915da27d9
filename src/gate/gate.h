// The gate is the HTTP front door. It turns requests into events for the engine, and the engine's
// decisions into answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/wakeups.h"
#include "config/config.h"
#include "core/action.h"
#include "core/engine.h"
#include "core/event.h"
#include "gate/answer_room.h"
#include "gate/clients.h"
#include "gate/connection.h"
#include "gate/connection_deps.h"
#include "gate/crowd.h"
#include "gate/key_file.h"
#include "gate/key_rates.h"
#include "gate/own_routes.h"
#include "gate/proxies.h"
#include "gate/refusals.h"
#include "os/background.h"
#include "os/clock.h"
#include "os/transport.h"
#include "stream/exchange.h"
#include "telemetry/lane_facts.h"
#include "telemetry/lane_log.h"
#include "telemetry/log_sink.h"
#include "telemetry/pool_facts.h"
#include "telemetry/recent_crashes.h"
#include "telemetry/recent_jobs.h"

namespace turnpike {

struct GateDeps {
    const Config& config;
    const Engine& engine;
    Wakeups& wakeups;
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

class Gate final : private Sleeper {
public:
    /// How many connections of the command line may be open at once, besides those of the clients.
    static constexpr std::size_t command_lines_max = 16;

    /// `bound` is the address at which clients reach the gate.
    Gate(GateDeps deps, const Address& bound);
    /// After close_all(), CHECKs that no connection and no job is left.
    ~Gate();

    /// Takes the connection. If connections run short, another one is pushed out for it
    /// (gate/crowd.h). Drops it if its client has its share of them and none of its own may go, or
    /// if close_all() was called. The command line has places of its own, which nobody else can take.
    void add_connection(TransportPtr transport, Peer peer);
    /// True if a further client can be taken, maybe in place of another one.
    [[nodiscard]] bool has_room() const;
    /// Pushes out one connection, because no descriptor is left.
    void push_one_out();

    void carry_out(const AdmitJob& action);
    void carry_out(const RefuseJob& action);
    void carry_out(const HashJob& action);
    void carry_out(const EndJob& action);
    /// Notes that the job goes to a lane. The supervisor sends it.
    void observe(const SendJob& action);

    /// Closes idle connections now, and the others after their answer.
    void shut_down();
    /// Ends in order: closes all connections, also those whose clients still read, so that every job
    /// has its line in the log. Must be called at the end, when the engine has ended all jobs.
    void close_all();
    /// Ends waits that lasted too long and reads changed keys. Must be called a few times a second.
    void tick();

    [[nodiscard]] std::size_t connections() const { return connections_; }

private:
    [[nodiscard]] OwnRouteDeps own_route_deps(const Address& bound);
    [[nodiscard]] std::vector<ClientFigures> client_figures() const;
    [[nodiscard]] ConnectionDeps connection_deps();
    [[nodiscard]] Connection* find(Ticket ticket) const;
    [[nodiscard]] bool make_room_for(const Peer& peer, ClientId client);
    [[nodiscard]] bool make_room_for_client(const Peer& peer, ClientId client);
    [[nodiscard]] std::size_t bound_for(ClientId client, bool is_trusted_proxy) const;
    [[nodiscard]] bool has_share(ClientId client) const;
    [[nodiscard]] bool make_room_for_command_line();
    [[nodiscard]] std::size_t clients_connected() const { return connections_ - command_lines_; }
    void closed(Connection& connection);
    /// Drops the connections that were closed in this turn.
    void wake() override { closed_.clear(); }

    GateDeps deps_;
    const Store memory_;  // like deps_.store, but with memfds, which are passed to native workers
    AccessControl access_;
    TrustedProxies proxies_;
    RequestRouter router_;
    JobNames names_;
    Objections objections_;
    HttpDate date_;
    RecentJobs recent_;
    JobArchive archive_;
    LiveJobs<Connection> live_jobs_;
    Refusals refusals_;
    Clients clients_;
    const ClientUse command_line_;
    KeyRates key_rates_;
    LostAnswers losses_;
    OwnRouteDeps own_route_deps_;
    Timeouts<Connection> timeouts_;
    Crowd<Connection> crowd_;                  // the clients
    Crowd<Connection> crowd_of_command_line_;  // which makes room only for itself
    ConnectionDeps connection_deps_;
    std::vector<std::shared_ptr<Connection>> by_ticket_;  // index: the low half of a ticket
    AnswerRoom answer_room_;
    std::vector<std::shared_ptr<Connection>> closed_;  // in this turn
    std::vector<std::uint32_t> free_places_;
    std::size_t connections_ = 0;
    std::size_t command_lines_ = 0;  // as many of them are the command line's
    std::uint32_t tickets_ = 0;
};

}  // namespace turnpike
