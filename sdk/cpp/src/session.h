// One worker's life: greets the gate, loads the model, answers jobs until it is told to stop.
//
// Whoever has nothing else to do reads the socket: with one slot, the thread that computes, so that a job
// passes from no thread to another. While all compute, a watcher reads in their place as soon as nobody has read for a few
// milliseconds: pings, cancels and the gate's end are heard then, too.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "aboard.h"
#include "answering.h"
#include "link.h"
#include "turnpike/worker.h"
#include "wire/decode.h"

namespace turnpike::inside {

class Session {
public:
    explicit Session(int socket) : link_(socket) {}

    /// The exit code. `make` gives the model once the gate has been greeted.
    int run(const std::function<Model*()>& make);

    void loading(std::optional<double> fraction, std::string_view text);
    Answering& answering() { return *answering_; }
    /// Takes what the gate has said, for a thread that will not be back soon.
    void read_orders();

private:
    // Reading: one thread at a time.
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

    bool load(const std::function<Model*()>& make);
    void ask_model();
    void send_ready();
    void serve_slots();
    void serve();  // one slot
    void run_next(std::unique_lock<std::mutex>& lock);
    void run_asides();
    void watch();
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
    Batch incomplete_batch_;  // members of a batch whose last one is still to come

    pthread_t loading_thread_{};
    std::mutex reading_;  // from the socket until it has been acted on, where several threads may

    std::mutex lock_;  // of all below
    std::condition_variable idle_changed_;
    std::condition_variable watcher_changed_;
    std::condition_variable aside_came_;
    std::deque<Batch> queue_;
    std::deque<Batch> asides_;
    std::thread aside_thread_;
    int working_ = 0;          // jobs that run, or the load
    int waiting_ = 0;          // slots with nothing to do, and somebody else reads
    std::uint64_t turns_ = 0;  // grows with each piece of work
    bool is_ready_ = false;
    bool has_reader_ = false;          // somebody reads, or is about to
    bool is_watcher_reading_ = false;  // and it is the watcher
    bool is_watcher_asleep_ = false;
    bool is_stopping_ = false;
};

}  // namespace turnpike::inside
