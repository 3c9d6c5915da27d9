// One client's connection. It moves bytes between the socket, the reader of requests and the writer
// of replies; hands each request to the engine as a job, or answers it itself.
//
//   head ─▶ deciding ─▶ body ⇄ storing ─▶ waiting ─▶ answering ⇄ blocked ─▶ (draining) ─▶ head …
//     └────────┴──────────┴────────┴─(our own answer)─▶ answering ─▶ (draining) ─▶ closing ─▶ closed
//
//   state      what happens                             what leads on
//   head       reads the head of a request              a whole head, a breach
//   deciding   waits for the engine's decision          admitted(), refused(), ended()
//   body       reads the body                           its end, a breach, too much of it
//   storing    a part of the body goes to the disk      the disk
//   waiting    the job is queued or running             answer_moved(), ended()
//   answering  writes; waits for more of the answer     answer_moved(), ended(), all is written
//   blocked    the socket is full                       can_write(); too slow a client: closed
//   draining   all is written, much is in the socket    the client has taken it; too slow: closed
//   closing    has sent everything                      the client has read it, and closes
//   closed     nothing; the gate drops the connection
//
// The connection goes on reading while its job waits, to notice that the client left. If the client
// leaves, the connection stays until its job has ended, so that every job gets its line in the log.
//
// Only the driver and the loop call a connection, never another part from within a call of its own
// (serve/driver). So nothing changes under its hands, and at most one request is taken in each turn.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/wakeups.h"
#include "core/action.h"
#include "gate/client_job.h"
#include "gate/clients.h"
#include "gate/connection_deps.h"
#include "gate/model_field.h"
#include "gate/reading_pace.h"
#include "gate/reply_writer.h"
#include "gate/timeouts.h"
#include "http/request_reader.h"
#include "os/transport.h"
#include "stream/answer.h"

namespace turnpike {

class Connection final : public std::enable_shared_from_this<Connection>,
                         public Sleeper,
                         private TransportUser,
                         private AnswerReader {
public:
    Connection(ConnectionDeps& deps, TransportPtr transport, Peer peer, Ticket ticket);
    ~Connection();

    void start();

    // ── what the engine decided about the job ──
    void admitted(JobId job);
    void refused(const RefuseJob& refusal);
    void sent(const SendJob& send) { job_.sent(send); }
    void ended(const EndJob& end);

    /// Must be called when the time of the current wait is over.
    void time_is_up();
    /// Takes no further request. Closes the connection at once if no whole head has come, otherwise
    /// after the answer.
    void finish_up();
    /// Closes the connection now, because the gate ends. What is not written yet is lost. The job must
    /// not be live.
    void end_with_gate();
    /// Closes the connection in the middle of its answer, and records why.
    void cut_off(Departure why) { give_up(why); }
    /// Closes the connection now, because connections run short. An upload that is under way fails.
    /// Must not be called while the connection is busy.
    void push_out();
    [[nodiscard]] bool has_live_job() const { return job_.is_live(); }

    // ── the answer that waits for the client ──
    /// Returns the answer of the job. nullptr while the client can't read any of it yet.
    [[nodiscard]] Answer* waiting_answer() const;
    /// Returns how many bytes per second the client reads.
    [[nodiscard]] std::uint64_t measure_reading_rate();
    /// Takes the next request, which came together with an earlier one. Called by Wakeups.
    void wake() override { go_on(); }

    [[nodiscard]] Ticket ticket() const { return ticket_; }
    [[nodiscard]] const JobRecord& record() const { return job_.record(); }
    /// Returns the client at the other end, as its address tells. Its jobs may belong to a key.
    [[nodiscard]] ClientId client() const { return client_at_address_.id(); }
    /// Returns whose job the latest one is.
    [[nodiscard]] ClientId client_of_job() const { return job_.client(); }

    Links<Connection> wait_links;
    Wait wait = Wait::nothing;
    Instant wait_until{};
    Links<Connection> crowd_links;
    Standing standing = Standing::idle;
    [[nodiscard]] bool has_input_waiting() const { return !transport_->is_quiet(); }

private:
    enum class State : std::uint8_t {
        head,
        deciding,
        body,
        storing,
        waiting,
        answering,
        blocked,
        draining,
        closing,
        closed,
    };
    enum class Client : std::uint8_t {
        sends,  // may send more
        hears,  // has closed its side, but may still read our answer
        left,
    };

    // reading (connection.cpp)
    void bytes_came(std::size_t size) override;
    void input_ended(InputEnd how) override;
    void go_on();
    void read();
    void give_up(Departure why);
    void check_if_client_left();
    void close();
    void wait_for(Wait kind);

    // a request (connection_request.cpp)
    void take_head();
    void take_request(const http::RequestHead& head);
    void answer_preflight(const http::RequestHead& head);
    void take_own_request(const http::RequestHead& head);
    void take_job(const http::RequestHead& head, const Caller& caller);
    [[nodiscard]] Duration time_until_allowed(const Caller& caller);
    void turn_away(const Objection& objection, EndReason reason,
                   Duration retry_after = Duration::zero());
    void take_body();
    void take_piece(std::string_view piece);
    void body_stored(int error);
    void complete_body();
    void queue_job();
    void fail_body(Objection objection);

    // answering (connection_answer.cpp)
    void answer_moved() override;
    void can_write() override;
    void answer_own(const OwnReply& reply);
    void answer_problem(const Objection& objection, Duration retry_after = Duration::zero(),
                        std::string_view allow = {});
    [[nodiscard]] Objection take_objection(const EndJob& end);
    void answer_job();
    void prepare_own_answer();
    void begin_writing();
    void write();
    bool flush();
    void break_stream();
    void all_written();
    void go_on_draining();
    void answered();
    void cut();
    std::size_t look_at_client();
    [[nodiscard]] RateRule rate_rule() const;
    [[nodiscard]] bool reads_too_slowly() const;

    ConnectionDeps& deps_;
    const TransportPtr transport_;
    const Peer peer_;
    const ClientUse client_at_address_;
    Crowd<Connection>& crowd_;
    const Ticket ticket_;
    State state_ = State::head;
    Client client_ = Client::sends;

    // input
    http::RequestReader reader_;
    bool is_reading_ = false;         // the transport holds a part of the reader's buffer
    std::uint64_t rate_checked_ = 0;  // bytes of the body when its rate was last checked

    // the request
    ReplyOptions reply_options_;
    ClientJob job_;
    std::uint64_t counted_ = 0;  // as many bytes of the body as the engine counts
    std::optional<ModelField> model_;
    std::optional<Objection> objection_;  // to the body; answered when the job has ended

    // output
    ReplyWriter writer_;
    ReadingPace pace_;
};

}  // namespace turnpike
