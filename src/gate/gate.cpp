#include "gate/gate.h"

#include <chrono>
#include <utility>

#include <fmt/chrono.h>

#include "gate/job_digest.h"
#include "telemetry/lane_words.h"

namespace turnpike {

namespace {

constexpr Duration departure_every = 1s;  // how often we check for clients that left unseen
constexpr Duration idle_min = 1s;     // younger idle connections stay: a request may be on its way
constexpr Duration closing_max = 2s;  // for a client to read our last bytes

std::uint32_t place_of(std::uint64_t id) { return static_cast<std::uint32_t>(id); }

}  // namespace

Gate::Gate(GateDeps deps, const Address& bound)
    : deps_(std::move(deps)),
      memory_{.disk = deps_.store.disk,
              .folder = {},
              .memory_max = deps_.store.memory_max,
              .step = deps_.store.step,
              .answer_max = deps_.store.answer_max},
      access_(deps_.config.gate, bound),
      router_(deps_.config.pools),
      names_(deps_.secret),
      own_route_deps_{.config = deps_.config,
                      .engine = deps_.engine,
                      .recent = recent_,
                      .exchanges = deps_.exchanges,
                      .lanes = deps_.lanes,
                      .crashes = deps_.crashes,
                      .log_of = deps_.log_of,
                      .names = names_,
                      .clock = deps_.clock,
                      .started = deps_.clock.now(),
                      .address = "http://" + text_of(bound),
                      .find_live =
                          [this](JobId job) {
                              const Connection* connection = find(job);
                              return connection == nullptr ? nullptr : &connection->record();
                          },
                      .for_each_live =
                          [this](const std::function<void(const JobRecord&)>& visit) {
                              for (const Connection* connection : by_job_)
                                  if (connection != nullptr) visit(connection->record());
                          },
                      .order = [this](const Event& event) { deps_.deliver(event); },
                      .dump_stacks = deps_.dump_stacks,
                      .reload_of = deps_.reload_of,
                      .reload = deps_.reload} {
    const GateConfig& config = deps_.config.gate;
    timeouts_.set(Wait::request, config.idle_timeout);
    timeouts_.set(Wait::head, config.head_timeout);
    timeouts_.set(Wait::body, config.rate_window);
    timeouts_.set(Wait::writing, config.rate_window);
    timeouts_.set(Wait::departure, departure_every);
    timeouts_.set(Wait::closing, closing_max);
}

Gate::~Gate() = default;

// ── connections ──────────────────────────────────────────────────────────────────────────────────

void Gate::add_connection(Connection::Socket socket, Connection::Peer peer) {
    if (free_places_.empty()) {
        free_places_.push_back(static_cast<std::uint32_t>(by_ticket_.size()));
        by_ticket_.emplace_back();
    }
    const std::uint32_t place = free_places_.back();
    free_places_.pop_back();
    const Ticket ticket{(std::uint64_t{++tickets_} << 32) | place};
    const auto connection =
        std::make_shared<Connection>(*this, std::move(socket), std::move(peer), ticket);
    by_ticket_[place] = connection;
    ++connections_;
    connection->start();
}

bool Gate::make_room() {
    if (connections_ < deps_.config.gate.connections_max) return true;
    Connection* idle = timeouts_.longest_waiting(Wait::request);
    if (idle == nullptr) return false;
    const Duration left = idle->wait_until - deps_.clock.now();
    if (deps_.config.gate.idle_timeout - left < idle_min) return false;
    idle->finish_up();
    return connections_ < deps_.config.gate.connections_max;
}

void Gate::forget(Connection& connection) {
    const std::uint32_t place = place_of(connection.ticket().value);
    by_ticket_[place] = nullptr;
    free_places_.push_back(place);
    --connections_;
}

void Gate::shut_down() {
    is_shutting_down_ = true;
    for (std::size_t place = 0; place < by_ticket_.size(); ++place)
        if (const std::shared_ptr<Connection> connection = by_ticket_[place])
            connection->finish_up();
}

void Gate::tick() {
    deps_.clock.read_wall_clock();
    timeouts_.expire(deps_.clock.now());
    deps_.keys.refresh();
}

// ── jobs ─────────────────────────────────────────────────────────────────────────────────────────

void Gate::claim(JobId job, Connection& connection) {
    const std::uint32_t place = place_of(job.value);
    if (place >= by_job_.size()) by_job_.resize(place + 1);
    by_job_[place] = &connection;
}

void Gate::release(JobId job) {
    if (find(job) != nullptr) by_job_[place_of(job.value)] = nullptr;
}

Connection* Gate::find(JobId job) const {
    const std::uint32_t place = place_of(job.value);
    if (place >= by_job_.size()) return nullptr;
    Connection* connection = by_job_[place];
    return connection != nullptr && connection->job() == job ? connection : nullptr;
}

void Gate::carry_out(const AdmitJob& action) {
    const std::shared_ptr<Connection> connection = by_ticket_[place_of(action.ticket.value)];
    if (connection != nullptr && connection->ticket() == action.ticket)
        connection->admitted(action.job);
    else
        deps_.deliver(ClientLeft{action.job});
}

void Gate::carry_out(const RefuseJob& action) {
    const std::shared_ptr<Connection> connection = by_ticket_[place_of(action.ticket.value)];
    if (connection != nullptr && connection->ticket() == action.ticket) connection->refused(action);
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
    if (Connection* connection = find(action.job)) {
        const std::shared_ptr<Connection> stays = connection->shared_from_this();
        connection->ended(action);
    }
}

void Gate::observe(const SendJob& action) {
    Connection* connection = find(action.job);
    if (connection == nullptr) return;
    connection->sent(action);
    if (deps_.config.log.starts) log_start(action, *connection);
}

void Gate::log_start(const SendJob& action, const Connection& connection) {
    const JobRecord& record = connection.record();
    deps_.log.push(JobStart{.id = record.id,
                            .pool = record.pool,
                            .lane = action.lane,
                            .gpu = record.gpu,
                            .attempt = action.number,
                            .at_unix_ns = deps_.clock.unix_ns(deps_.clock.now())});
}

void Gate::log_end(const JobRecord& record) {
    recent_.add(record);
    deps_.log.push(record);
}

Objection Gate::objection_to(PoolId pool, EndReason reason) const {
    Objection objection{problem_of(reason), {}};
    if (reason == EndReason::no_lane)
        objection.detail = sentences_about_lanes(deps_.engine.view(deps_.clock.now()), pool);
    return objection;
}

Objection Gate::objection_to_known_poison(JobId first) const {
    return {Problem::known_poison, fmt::format("job {} was the same request and killed two workers",
                                               names_.name_of(first).view())};
}

std::string_view Gate::date() {
    constexpr std::int64_t second_ns = 1'000'000'000;
    const std::int64_t second = deps_.clock.unix_ns(deps_.clock.now()) / second_ns;
    if (second != date_second_) {
        date_second_ = second;
        date_ = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT",
                            fmt::gmtime(static_cast<std::time_t>(second)));
    }
    return date_;
}

}  // namespace turnpike
