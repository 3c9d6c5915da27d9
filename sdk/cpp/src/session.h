// The life of a worker: says hello, loads the model, and answers jobs until the gate sends stop.
//
// An idle slot reads the socket. With one slot, this is the thread that also computes, so a job
// never passes from one thread to another. While all slots compute, a watcher thread reads instead,
// once nobody has read for a few milliseconds. So the worker always notices pings, cancels and the
// gate's end.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "aboard.h"
#include "answering.h"
#include "failure.h"
#include "link.h"
#include "turnpike/worker.h"
#include "wire/decode.h"

namespace turnpike::inside {

class Session {
public:
    explicit Session(int socket) : link_(socket) {}

    /// Runs the worker and returns its exit code. Calls `make` for the model after it has sent
    /// hello.
    int run(const std::function<Model*()>& make);

    void loading(std::optional<double> fraction, std::string_view text);
    Answering& answering() { return *answering_; }
    /// Reads and handles what the gate has sent. For a thread that is busy for long, such as one
    /// that streams.
    void read_orders();

private:
    // Reading. Only one thread at a time may do this.
    void take_bytes();
    void take(const wire::Welcome& welcome);
    void take(const wire::Job& job);
    void take(const wire::Cancel& cancel) { aboard_.cancel(cancel.id); }
    void take(const wire::Ping& ping) { link_.send(wire::Pong{.id = ping.id}); }
    void take(const wire::AskStacks& ask);
    void take(const wire::Pause& pause) { aboard_.pause(pause.id); }
    void take(const wire::Resume& resume) { aboard_.resume(resume.id); }
    void take(const wire::Stop&) { stop(); }
    bool is_ready();
    Descriptor body_of(const wire::Job& job);
    bool read_once(Link::Received received);
    bool read_available();
    bool is_only_reader() const;
    void stop();
    [[noreturn]] void end_on_breach(std::string_view why);

    [[nodiscard]] LaneKind lane_kind() const;
    bool load(const std::function<Model*()>& make);
    void ask_model();
    void send_ready();
    void serve_slots();
    void serve();  // runs one slot
    void run_next(std::unique_lock<std::mutex>& lock);
    void run_asides();
    void watch();
    [[nodiscard]] std::exception_ptr start_aside_thread();
    void begin_work();
    void end_work();

    Link link_;
    Aboard aboard_;
    Model* model_ = nullptr;
    std::optional<Answering> answering_;
    Lane lane_;
    wire::Decoder<wire::GateFrame> decoder_;
    std::optional<wire::Welcome> welcome_;
    int slots_ = 1;
    int batch_ = 1;
    bool has_check_ = false;
    std::optional<Example> example_;
    std::string facts_;
    Batch incomplete_batch_;  // the members that have come so far

    pthread_t loading_thread_{};
    std::mutex reading_;  // held from reading the socket until the frames are handled

    std::mutex lock_;  // protects everything below
    std::condition_variable idle_changed_;
    std::condition_variable watcher_changed_;
    std::condition_variable aside_came_;
    std::deque<Batch> queue_;
    std::deque<Batch> asides_;
    std::thread aside_thread_;
    int working_ = 0;          // jobs that run, including the load
    int waiting_ = 0;          // idle slots that do not read, because another thread does
    std::uint64_t turns_ = 0;  // grows with each job that starts
    bool is_ready_ = false;
    bool has_reader_ = false;          // a thread reads, or is about to
    bool is_watcher_reading_ = false;  // the reader is the watcher
    bool is_watcher_asleep_ = false;
    bool is_stopping_ = false;
};

}  // namespace turnpike::inside
