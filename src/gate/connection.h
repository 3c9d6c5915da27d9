// One client's connection. It reads requests one after another, hands each to the engine as a job
// (or answers it itself), and writes one answer to each.
//
//   head ─▶ deciding ─▶ body ⇄ storing ─▶ waiting ─▶ answering ─▶ head …
//     └────────┴──────────┴────────────────┴─(our own answer)─▶ answering ─▶ closing ─▶ closed
//
// The connection goes on reading while its job waits, to notice that the client left. If the client
// leaves, the connection stays until its job has ended, so that every job gets its line in the log.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/generic/stream_protocol.hpp>

#include "core/action.h"
#include "gate/access.h"
#include "gate/arrival.h"
#include "gate/model_field.h"
#include "gate/reply.h"
#include "gate/timeouts.h"
#include "http/body_decoder.h"
#include "http/request_parser.h"
#include "stream/exchange.h"
#include "telemetry/job_record.h"

namespace turnpike {

class Gate;

class Connection final : public std::enable_shared_from_this<Connection>, private AnswerReader {
public:
    using Socket = boost::asio::generic::stream_protocol::socket;

    struct Peer {
        Transport transport = Transport::tcp;
        std::string address;  // "127.0.0.1", "::1"; empty for the Unix socket
        std::string text;     // the address with its port, for logs
    };

    Connection(Gate& gate, Socket socket, Peer peer, Ticket ticket);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void start();

    // ── what the engine decided about the job ──
    void admitted(JobId job);
    void refused(const RefuseJob& refusal);
    void sent(const SendJob& send);
    void ended(const EndJob& end);

    /// Must be called when the time of the current wait is over.
    void time_is_up();
    /// Takes no further request. Closes the connection at once if no request is under way,
    /// otherwise after the answer.
    void finish_up();

    [[nodiscard]] JobId job() const { return job_; }
    [[nodiscard]] Ticket ticket() const { return ticket_; }
    [[nodiscard]] const JobRecord& record() const { return record_; }

    Links<Connection> wait_links;
    Wait wait = Wait::nothing;
    Instant wait_until{};

private:
    enum class State : std::uint8_t {
        head,       // reads the head of a request
        deciding,   // waits for the engine's decision
        body,       // reads the body
        storing,    // waits until a part of the body is on disk
        waiting,    // its job is queued or running
        answering,  // writes the answer
        closing,    // has sent everything, and waits until the client has read it
        closed,
    };

    // reading (connection.cpp)
    void go_on();
    void read();
    bool make_room();
    void input_ended();
    void client_left();
    void check_if_client_left();
    [[nodiscard]] std::string_view unread() const {
        return {in_.data() + in_start_, in_size_ - in_start_};
    }
    bool take_head();
    void take_request(const http::RequestHead& head);
    void answer_preflight(const http::RequestHead& head);
    void log_refusal(const Objection& objection, EndReason reason);
    void take_own_request(const http::RequestHead& head);
    void take_job(const http::RequestHead& head);

    // the body (connection_body.cpp)
    bool take_body();
    void body_stored(int error);
    void complete_body();
    void queue_job();
    void fail_body(Objection objection);

    // answering (connection_answer.cpp)
    void answer_moved() override;
    void answer_own(const OwnReply& reply);
    void answer_problem(const Objection& objection, Duration retry_after = Duration::zero(),
                        std::string_view allow = {});
    void record_problem(const Objection& objection);
    void record_failure(const Objection& objection);
    [[nodiscard]] Audience client() const;
    [[nodiscard]] Objection take_objection(const EndJob& end);
    [[nodiscard]] Objection objection_to_end() const;
    [[nodiscard]] std::optional<std::uint64_t> lane_with_log() const;
    void answer_job();
    void begin_writing();
    void write();
    enum class Next : std::uint8_t { bytes, later, finished, broken };
    Next fill();
    void break_stream();
    [[nodiscard]] bool can_tell_of_break() const;
    Next fill_end_of_broken();
    bool flush();
    void wait_to_write();
    void answered();
    void cut();
    void close();
    void release_job();
    void log_end();
    [[nodiscard]] Duration queue_time() const;
    [[nodiscard]] JobMarks marks() const;

    Gate& gate_;
    Socket socket_;
    const Peer peer_;
    const Ticket ticket_;
    State state_ = State::head;

    // input
    std::string in_;
    std::size_t in_size_ = 0;
    std::size_t in_start_ = 0;  // all bytes before this one are consumed
    bool is_reading_ = false;
    bool is_going_on_ = false;
    http::RequestParser parser_;
    http::BodyDecoder decoder_;
    std::uint64_t received_ = 0;  // bytes of the body since its rate was last checked

    // the request
    ReplyOptions reply_options_;
    Arrival arrival_;
    bool is_request_partial_ = false;  // some of the request is still to come
    bool is_body_whole_ = false;       // all of the body has come, but some may not be on disk yet
    std::uint64_t declared_ = 0;       // the size of the body that the engine was told
    std::unique_ptr<ModelField> model_;
    JobId job_;
    ExchangePtr exchange_;
    JobRecord record_;
    Instant arrived_at_{};
    std::optional<Instant> queued_at_;
    std::optional<Objection> objection_;  // to the body; answered when the job has ended
    bool has_client_left_ = false;
    bool has_job_ended_ = false;

    // output
    std::string out_;
    std::size_t out_sent_ = 0;
    ReplyFraming framing_ = ReplyFraming::none;
    bool is_job_answer_ = false;
    bool is_last_chunk_out_ = false;
    bool is_breaking_ = false;            // the job ended within its answer: send no last chunk
    bool must_send_error_event_ = false;  // an event stream breaks; say so before the end
    bool is_between_events_ = true;       // no event was begun, or the last one is complete
    bool is_writing_ = false;
    bool is_blocked_ = false;
    std::uint64_t written_ = 0;  // bytes since the rate was last checked
};

}  // namespace turnpike
