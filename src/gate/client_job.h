// What the gate knows of the request that a connection handles: the job that it became, the bytes of
// that job, and the record that goes to the log.
//
//   none ─arrive()─▶ arrived ─admit()─▶ live ─end()─▶ ended ─release()─▶ none
//                       └──────────refuse()───────────────────────────────▲
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/action.h"
#include "gate/arrival.h"
#include "gate/clients.h"
#include "gate/connection_deps.h"
#include "gate/keys.h"
#include "gate/reply.h"
#include "stream/exchange.h"
#include "stream/trouble.h"
#include "telemetry/job_record.h"

namespace turnpike {

/// Who is at the other end of a connection.
struct Peer {
    Entrance entrance = Entrance::tcp;
    std::string address;  // "127.0.0.1", "::1", "unix socket"; empty for the command line
    std::string text;     // the address with its port, for logs
};

class ClientJob {
public:
    enum class State : std::uint8_t { none, arrived, live, ended };

    /// `at_address` is whose jobs these are if they come without a key.
    ClientJob(const ConnectionDeps& deps, const Peer& peer, const ClientUse& at_address);

    /// Begins the record of a request that may become a job. `key` is nullptr if it came without.
    /// Without a key, the client is whoever the request comes from, or is forwarded for.
    void arrive(Arrival arrival, const http::RequestHead& head, const ApiKey* key);
    /// Notes that the engine refused the request, and logs it.
    void refuse(const Objection& objection, EndReason reason);
    /// Does the same for a request that the gate itself refuses, of which the engine never hears.
    void turn_away(const Objection& objection, EndReason reason);
    /// Opens the exchange, and fills in the head of the request. `reader` gets the answer.
    void admit(JobId job, const http::RequestHead& head, AnswerReader& reader);
    /// Notes that the body's "model" chose this pool.
    void route_to(PoolId pool);
    /// Notes that the body is complete.
    void complete_body();
    void sent(const SendJob& send);
    void end(const EndJob& end);
    /// Logs the job and gives its exchange back.
    void release();

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] bool is_live() const { return state_ == State::live; }
    /// True from admit() to release().
    [[nodiscard]] bool is_open() const { return state_ == State::live || state_ == State::ended; }
    [[nodiscard]] JobId id() const { return record_.job; }
    [[nodiscard]] PoolId pool() const { return arrival_.pool; }
    [[nodiscard]] const Arrival& arrival() const { return arrival_; }
    /// The bytes of the job. Must be called only while is_open().
    [[nodiscard]] Exchange& exchange() const { return *exchange_; }
    [[nodiscard]] const JobRecord& record() const { return record_; }
    /// Returns whose job it is. None before arrive().
    [[nodiscard]] ClientId client() const { return client_.id(); }

    /// Returns what the answer's head tells about the job.
    [[nodiscard]] JobMarks marks() const;
    /// Returns the lane on which the job ran last. Nullopt if it never ran, or if somebody else
    /// started the worker: then we have no log of it.
    [[nodiscard]] std::optional<std::uint64_t> lane_with_log() const;
    /// Returns the objection for a job that ended without a whole answer.
    [[nodiscard]] Objection objection_to_end() const;
    /// Notes the answer that the client gets, for the log.
    void note_status(int status) { record_.status = status; }
    void note_problem(const Objection& objection);
    /// Notes why the answer breaks off, for the log. The status is sent already.
    void note_break(const Objection& objection);
    void note_written(Bytes bytes) { record_.bytes_out = bytes; }
    /// Notes that the client does not get the whole answer, for the log: the job does not count as
    /// finished then, even if its worker has done all that it should. `taken` is what the client has.
    void note_loss(EndReason why, Bytes taken);

private:
    /// Returns for whom a proxy forwards the request. Nullopt if the peer itself is the client.
    [[nodiscard]] std::optional<std::string> forwarded_for(const http::RequestHead& head) const;
    [[nodiscard]] Audience audience() const;
    [[nodiscard]] Duration queue_time() const;
    [[nodiscard]] bool has_run() const { return is_open() && record_.attempts > 0; }
    void settle_loss();
    void log();

    const ConnectionDeps& deps_;
    const Peer& peer_;
    const ClientUse& at_address_;
    ClientUse client_;
    State state_ = State::none;
    Arrival arrival_;
    ExchangePtr exchange_;
    JobRecord record_;
    Instant arrived_at_{};
    std::optional<Instant> queued_at_;
    std::optional<EndReason> loss_;  // why the client does not get the whole answer
};

}  // namespace turnpike
