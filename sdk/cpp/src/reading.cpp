// How a session handles the gate's frames. A breach ends the process, and stderr says why.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "session.h"
#include "stacks.h"
#include "text.h"

namespace turnpike::inside {

void Session::end_on_breach(std::string_view why) {
    std::fprintf(stderr, "the gate broke the worker protocol: %.*s\n", static_cast<int>(why.size()),
                 why.data());
    end_process(1);
}

/// Returns false if the gate is gone.
bool Session::read_once(Link::Received received) {
    switch (received) {
        case Link::Received::bytes: take_bytes(); return true;
        case Link::Received::nothing: return true;
        case Link::Received::closed: stop(); return false;
    }
    return false;
}

bool Session::read_available() {
    const std::lock_guard reading(reading_);
    return read_once(link_.try_receive());
}

/// True if no other thread can read the socket.
bool Session::is_only_reader() const { return slots_ == 1 && !aside_thread_.joinable(); }

void Session::read_orders() {
    read_available();
    const std::lock_guard lock(lock_);
    if (!queue_.empty())
        link_.interrupt();  // a thread that waits for the socket has not seen the new job
}

void Session::take_bytes() {
    const wire::Breach breach = decoder_.push(link_.bytes(), [&](const wire::GateFrame& frame) {
        if (!welcome_ && !std::holds_alternative<wire::Welcome>(frame))
            end_on_breach("The first frame is not a welcome.");
        std::visit([&](const auto& one) { take(one); }, frame);
        return true;
    });
    if (breach != wire::Breach::none) end_on_breach(wire::sentence_of(breach));
    if (link_.has_lost_descriptors() || (link_.has_descriptor() && decoder_.pending() == 0))
        end_on_breach(wire::sentence_of(wire::Breach::descriptor_unannounced));
}

/// Nobody waits for an answer any more, so the process does not wait for jobs that still compute.
void Session::stop() {
    const std::lock_guard lock(lock_);
    if (working_ > 0) end_process(0);
    is_stopping_ = true;
    idle_changed_.notify_all();
    watcher_changed_.notify_all();
    aside_came_.notify_all();
}

void Session::take(const wire::Welcome& welcome) {
    if (welcome_) end_on_breach("The gate sent welcome twice.");
    if (welcome.version != wire::version)
        end_on_breach("The welcome has version " + std::to_string(welcome.version) +
                      "; this worker offered version " + std::to_string(wire::version) + ".");
    lane_.session_ = this;
    lane_.index_ = welcome.lane;
    lane_.gpus_ = welcome.gpus;
    lane_.pool_ = welcome.pool;
    welcome_ = welcome;
    welcome_->pool = lane_.pool_;
}

void Session::take(const wire::Job& job) {
    if (job.batch_index != incomplete_batch_.size())
        end_on_breach("The members of a batch are out of order.");
    auto record = std::make_shared<Record>(*this, job);
    if (job.body.is_in_descriptor) record->body_descriptor = body_of(job);
    if (!aboard_.add(*record)) end_on_breach("The number of a job is used twice.");
    incomplete_batch_.push_back(std::move(record));
    if (incomplete_batch_.size() < job.batch_size) return;

    std::unique_lock lock(lock_);
    if (!is_ready_) end_on_breach("A job came before ready.");
    Batch batch = std::exchange(incomplete_batch_, {});
    if (job.purpose != wire::Purpose::aside) {
        queue_.push_back(std::move(batch));
        if (waiting_ > 0) idle_changed_.notify_one();
        return;
    }
    if (const std::exception_ptr why_not = start_aside_thread()) {
        lock.unlock();
        return answering_->refuse(batch, why_not);
    }
    asides_.push_back(std::move(batch));
    aside_came_.notify_one();
}

/// Starts the thread of asides unless it runs. If the system allows no more threads, returns the
/// exception that says so, and the next aside tries again.
std::exception_ptr Session::start_aside_thread() {
    try {
        if (!aside_thread_.joinable()) aside_thread_ = std::thread([this] { run_asides(); });
    } catch (const std::system_error& error) {
        return std::make_exception_ptr(
            std::runtime_error(std::string("no thread could be started for this aside: ") +
                               error.what() + " (see ulimit -u, pids.max and memory limits)"));
    }
    return nullptr;
}

Descriptor Session::body_of(const wire::Job& job) {
    if (!link_.has_descriptor()) end_on_breach(wire::sentence_of(wire::Breach::descriptor_missing));
    Descriptor descriptor = link_.next_descriptor();
    if (!is_sealed(descriptor.number(), job.body.in_descriptor))
        end_on_breach(wire::sentence_of(wire::Breach::descriptor_unfit));
    return descriptor;
}

bool Session::is_ready() {
    const std::lock_guard lock(lock_);
    return is_ready_;
}

void Session::take(const wire::AskStacks& ask) {
    std::string text;
    for (const Aboard::Running& running : aboard_.running())
        text += running.what + "\n" + stack_of(running.thread) + "\n";
    if (text.empty())
        text = is_ready() ? "no job is running\n"
                          : "the model is loading\n" + stack_of(loading_thread_);
    link_.send(wire::Stacks{.id = ask.id, .text = bounded(text, wire::stacks_max)});
}

}  // namespace turnpike::inside
