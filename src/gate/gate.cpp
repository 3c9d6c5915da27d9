#include "gate/gate.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "gate/job_digest.h"

namespace turnpike {

namespace {

constexpr Duration departure_every = 1s;    // how often we check for clients that left unseen
constexpr Duration closing_max = 2s;        // for a client that has read all to close its side
constexpr Duration draining_every = 200ms;  // how often we look whether a client has read all

std::uint32_t place_of(Ticket ticket) { return static_cast<std::uint32_t>(ticket.value); }

}  // namespace

Gate::Gate(GateDeps deps, const Address& bound)
    : deps_(std::move(deps)),
      memory_{.disk = deps_.store.disk,
              .folder = {},
              .memory_max = deps_.store.memory_max,
              .step = deps_.store.step,
              .answer_max = deps_.store.answer_max},
      access_(deps_.config.gate, bound),
      proxies_(deps_.config.gate.trusted_proxies),
      router_(deps_.config.pools),
      names_(deps_.secret),
      objections_(deps_.engine, names_, deps_.clock),
      date_(deps_.clock),
      archive_(recent_, deps_.log),
      refusals_(deps_.config.pools.size()),
      clients_([this](ClientId id) {
          refusals_.forget(id);
          deps_.deliver(ClientForgotten{id});
      }),
      command_line_(clients_.at_address({})),
      losses_(deps_.config.pools.size()),
      own_route_deps_(own_route_deps(bound)),
      connection_deps_(connection_deps()),
      answer_room_(deps_.exchanges.answers(), deps_.store, by_ticket_, deps_.wakeups) {
    const GateConfig& config = deps_.config.gate;
    timeouts_.set(Wait::request, config.idle_timeout);
    timeouts_.set(Wait::head, config.head_timeout);
    timeouts_.set(Wait::body, config.rate_window);
    timeouts_.set(Wait::writing, config.rate_window / 4);  // see ReadingPace
    timeouts_.set(Wait::draining, draining_every);
    timeouts_.set(Wait::departure, departure_every);
    timeouts_.set(Wait::closing, closing_max);
}

Gate::~Gate() {
    if (connection_deps_.stage == GateStage::over) CHECK(connections_ == 0 && live_jobs_.empty());
    deps_.wakeups.remove(*this);
}

OwnRouteDeps Gate::own_route_deps(const Address& bound) {
    return {.config = deps_.config,
            .engine = deps_.engine,
            .recent = recent_,
            .refusals = refusals_,
            .exchanges = deps_.exchanges,
            .losses = losses_,
            .lanes = deps_.lanes,
            .crashes = deps_.crashes,
            .log_of = deps_.log_of,
            .names = names_,
            .clock = deps_.clock,
            .started = deps_.clock.now(),
            .address = "http://" + text_of(bound),
            .find_live =
                [this](JobId job) {
                    const Connection* connection = live_jobs_.find(job);
                    return connection == nullptr ? nullptr : &connection->record();
                },
            .is_live =
                [this](JobId job) {
                    const Connection* connection = live_jobs_.find(job);
                    return connection != nullptr && connection->has_live_job();
                },
            .for_each_live =
                [this](const std::function<void(const JobRecord&)>& visit) {
                    live_jobs_.for_each(
                        [&](const Connection& connection) { visit(connection.record()); });
                },
            .order = deps_.deliver,
            .clients = [this] { return client_figures(); },
            .dump_stacks = deps_.dump_stacks,
            .needs_keys = [this] { return deps_.keys.is_required(); },
            .reload_of = deps_.reload_of,
            .reload = deps_.reload};
}

/// Returns the clients that have live jobs, or were refused, in the order of their numbers.
std::vector<ClientFigures> Gate::client_figures() const {
    View view;
    deps_.engine.view_clients(deps_.clock.now(), view);
    std::vector<ClientFigures> all(clients_.size());
    for (const ClientView& client : view.clients)
        all[client.client.value] = {.name = {},
                                    .uploads = client.uploads,
                                    .queued = client.queued,
                                    .running = client.running,
                                    .bytes = client.bytes,
                                    .refused = client.refused,
                                    .oldest_wait = client.oldest_wait,
                                    .is_suspected = client.is_suspected};
    for (std::size_t id = 0; id < all.size(); ++id) {
        all[id].name = clients_.name_of(ClientId{id});
        all[id].refused += refusals_.of(ClientId{id});
    }
    std::erase_if(all, [](const ClientFigures& client) { return is_idle(client); });
    return all;
}

ConnectionDeps Gate::connection_deps() {
    return {.config = deps_.config,
            .access = access_,
            .proxies = proxies_,
            .router = router_,
            .key_file = deps_.keys,
            .names = names_,
            .objections = objections_,
            .own_routes = own_route_deps_,
            .lanes = deps_.lanes,
            .disk = deps_.store,
            .memory = memory_,
            .clock = deps_.clock,
            .date = date_,
            .wakeups = deps_.wakeups,
            .exchanges = deps_.exchanges,
            .live_jobs = live_jobs_,
            .clients = clients_,
            .key_rates = key_rates_,
            .refusals = refusals_,
            .archive = archive_,
            .losses = losses_,
            .timeouts = timeouts_,
            .crowd = crowd_,
            .command_lines = crowd_of_command_line_,
            .deliver = deps_.deliver,
            .closed = [this](Connection& connection) { closed(connection); }};
}

// ── connections ──────────────────────────────────────────────────────────────────────────────────

void Gate::add_connection(TransportPtr transport, Peer peer) {
    if (connection_deps_.stage == GateStage::over) return;
    const ClientUse client = clients_.at_address(peer.address);
    if (!make_room_for(peer, client.id())) return;
    if (free_places_.empty()) {
        free_places_.push_back(static_cast<std::uint32_t>(by_ticket_.size()));
        by_ticket_.emplace_back();
    }
    const std::uint32_t place = free_places_.back();
    free_places_.pop_back();
    const Ticket ticket{(std::uint64_t{++tickets_} << 32) | place};
    by_ticket_[place] = std::make_shared<Connection>(connection_deps_, std::move(transport),
                                                     std::move(peer), ticket);
    ++connections_;
    if (client.id() == command_line_.id()) ++command_lines_;
    by_ticket_[place]->start();
}

bool Gate::has_room() const {
    return clients_connected() < deps_.config.gate.connections_max || crowd_.has_removable();
}

bool Gate::make_room_for(const Peer& peer, ClientId client) {
    return peer.entrance == Entrance::command_line ? make_room_for_command_line()
                                                   : make_room_for_client(peer, client);
}

bool Gate::make_room_for_command_line() {
    if (command_lines_ < command_lines_max) return true;
    Connection* first = crowd_of_command_line_.first_of_most();
    if (first == nullptr) return false;
    first->push_out();
    return true;
}

bool Gate::make_room_for_client(const Peer& peer, ClientId client) {
    const bool is_proxy = proxies_.is_trusted(peer.entrance, peer.address);
    if (clients_connected() < bound_for(client, is_proxy)) return true;
    const bool has_its_share = !is_proxy && has_share(client);
    Connection* first = has_its_share ? crowd_.first_of(client) : crowd_.first_of_most();
    if (first == nullptr) return false;
    first->push_out();
    return true;
}

/// Returns how many connections may be open after which this client gets one more only in place of
/// another. The last tenth is for clients that have less than their share, and the last half of it
/// for those that have none. So a few clients can't take all with connections that may not be pushed
/// out. A trusted proxy speaks for many clients from one address: it gets all there is.
std::size_t Gate::bound_for(ClientId client, bool is_trusted_proxy) const {
    const std::size_t most = deps_.config.gate.connections_max;
    const std::size_t tenth = most / 10;
    if (is_trusted_proxy || crowd_.count(client) == 0) return most;
    return has_share(client) ? most - tenth : most - (tenth + 1) / 2;
}

/// One share is kept for a client that is not here yet.
bool Gate::has_share(ClientId client) const {
    const std::size_t share = deps_.config.gate.connections_max / (crowd_.clients() + 1);
    return crowd_.count(client) >= std::max<std::size_t>(share, 1);
}

void Gate::push_one_out() {
    if (Connection* first = crowd_.first_of_most()) first->push_out();
}

Connection* Gate::find(Ticket ticket) const {
    Connection* connection = by_ticket_[place_of(ticket)].get();
    return connection != nullptr && connection->ticket() == ticket ? connection : nullptr;
}

/// Keeps the connection until the end of the turn, because one of its functions has called us.
void Gate::closed(Connection& connection) {
    const std::uint32_t place = place_of(connection.ticket());
    closed_.push_back(std::exchange(by_ticket_[place], nullptr));
    free_places_.push_back(place);
    --connections_;
    if (connection.client() == command_line_.id()) --command_lines_;
    deps_.wakeups.add(*this);
}

void Gate::shut_down() {
    connection_deps_.stage = GateStage::closing;
    for (std::size_t place = 0; place < by_ticket_.size(); ++place)
        if (Connection* connection = by_ticket_[place].get()) connection->finish_up();
}

void Gate::close_all() {
    connection_deps_.stage = GateStage::over;
    for (std::size_t place = 0; place < by_ticket_.size(); ++place)
        if (Connection* connection = by_ticket_[place].get();
            connection && !connection->has_live_job())
            connection->end_with_gate();
}

void Gate::tick() {
    deps_.clock.read_wall_clock();
    timeouts_.expire(deps_.clock.now());
    answer_room_.look_at_disk(deps_.clock.now());
    if (deps_.keys.refresh()) key_rates_.keep_only(deps_.keys.ring().keys());
}

// ── jobs ─────────────────────────────────────────────────────────────────────────────────────────

void Gate::carry_out(const AdmitJob& action) {
    if (Connection* connection = find(action.ticket)) return connection->admitted(action.job);
    deps_.deliver(ClientLeft{action.job});
}

void Gate::carry_out(const RefuseJob& action) {
    if (Connection* connection = find(action.ticket)) connection->refused(action);
}

/// The job may end before its digest is known, so digest_of() keeps all that it needs.
void Gate::carry_out(const HashJob& action) {
    const ExchangePtr exchange = deps_.exchanges.find(action.job);
    if (exchange == nullptr) return deps_.deliver(JobHashed{action.job, random_digest()});
    deps_.digests.run(
        digest_of(*exchange, deps_.store.step),
        [this, job = action.job](const Digest& digest) { deps_.deliver(JobHashed{job, digest}); });
}

void Gate::carry_out(const EndJob& action) {
    if (Connection* connection = live_jobs_.find(action.job)) connection->ended(action);
}

void Gate::observe(const SendJob& action) {
    Connection* connection = live_jobs_.find(action.job);
    if (connection == nullptr) return;
    connection->sent(action);
    if (!deps_.config.log.starts) return;
    const JobRecord& record = connection->record();
    archive_.add(JobStart{.id = record.id,
                          .pool = record.pool,
                          .lane = action.lane,
                          .gpu = record.gpu,
                          .attempt = action.number,
                          .at_unix_ns = deps_.clock.unix_ns(deps_.clock.now())});
}

}  // namespace turnpike
