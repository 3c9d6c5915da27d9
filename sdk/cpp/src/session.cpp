#include "session.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "stacks.h"
#include "text.h"
#include "wire/header_lines.h"

namespace turnpike::inside {

namespace {

constexpr std::string_view sdk_name = "turnpike-cpp 0.1.0";
constexpr auto watch_after = std::chrono::milliseconds(5);

void check_size(const char* what, std::size_t size, std::size_t most) {
    if (size > most)
        throw std::invalid_argument("it has " + std::to_string(size) + " bytes of " + what +
                                    "; at most " + std::to_string(most) + " are allowed");
}

}  // namespace

int Session::run(const std::function<Model*()>& make) {
    prepare_stacks();
    loading_thread_ = ::pthread_self();
    link_.send(wire::Hello{.sdk = sdk_name});
    while (!welcome_ && !is_stopping_) read_once(link_.receive());
    if (is_stopping_) return 0;
    std::thread watcher([this] { watch(); });
    if (!load(make)) end_process(1);
    send_ready();
    serve_slots();
    watcher_changed_.notify_all();
    link_.interrupt();
    watcher.join();
    if (aside_thread_.joinable()) aside_thread_.join();
    return 0;
}

LaneKind Session::lane_kind() const { return lane_.gpus() > 0 ? LaneKind::gpu : LaneKind::cpu; }

bool Session::load(const std::function<Model*()>& make) {
    begin_work();
    try {
        model_ = make();
        model_->load(lane_);
        answering_.emplace(link_, aboard_, *model_, lane_kind());
        ask_model();
    } catch (...) {
        const Failure failure = failure_of(std::current_exception(), lane_kind());
        std::fprintf(stderr, "the model failed to load: %s: %s\n", failure.type.c_str(),
                     failure.message.c_str());
        return false;
    }
    end_work();
    return true;
}

void Session::loading(std::optional<double> fraction, std::string_view text) {
    if (is_ready()) return;
    link_.send(wire::Loading{.phase = wire::LoadPhase::loading,
                             .permille = permille_of(fraction),
                             .text = bounded(text, wire::fields_max - 1)});
}

/// Asks the model for slots, batch, example and facts. Throws what the model throws, and
/// std::invalid_argument for values that do not fit into `ready`.
void Session::ask_model() {
    const auto width = [](int configured, int own) {
        return std::clamp(configured > 0 ? configured : own, 1, int{wire::width_max});
    };
    slots_ = width(welcome_->slots, model_->slots());
    batch_ = width(welcome_->batch, model_->batch());
    has_check_ = model_->has_check();
    example_ = model_->example();
    facts_ = model_->facts();
    check_size("facts", facts_.size(), wire::facts_max);
    if (bounded(facts_, wire::facts_max) != facts_)
        throw std::invalid_argument("its facts are not UTF-8");
    if (!example_) return;
    check_size("example", example_->body.size(), wire::inline_max);
    const std::string& type = example_->content_type;
    if (!wire::is_field_value(type) || bounded(type, wire::name_max) != type)
        throw std::invalid_argument("the content type of its example is not valid: " + type);
}

void Session::send_ready() {
    wire::Ready ready{.slots = static_cast<std::uint16_t>(slots_),
                      .batch = static_cast<std::uint16_t>(batch_),
                      .has_example = example_.has_value(),
                      .checks_proofs = has_check_,
                      .facts = facts_};
    if (example_) {
        ready.example_type = example_->content_type;
        ready.example = example_->body;
    }
    {
        const std::lock_guard lock(lock_);
        is_ready_ = true;
    }
    link_.send(ready);
}

// ── working ──────────────────────────────────────────────────────────────────────────────────────

void Session::serve_slots() {
    std::vector<std::thread> others;
    for (int slot = 1; slot < slots_; ++slot) others.emplace_back([this] { serve(); });
    serve();
    for (std::thread& other : others) other.join();
}

void Session::serve() {
    std::unique_lock lock(lock_);
    while (!is_stopping_) {
        if (!queue_.empty()) {
            run_next(lock);
        } else if (!has_reader_) {
            has_reader_ = true;
            const bool reads_alone = is_only_reader();
            lock.unlock();
            if (reads_alone)
                read_once(link_.receive());
            else if (link_.wait())
                read_available();
            lock.lock();
            has_reader_ = false;
        } else {
            if (is_watcher_reading_) link_.interrupt();
            ++waiting_;
            idle_changed_.wait(lock,
                               [&] { return !queue_.empty() || !has_reader_ || is_stopping_; });
            --waiting_;
        }
    }
    idle_changed_.notify_all();
}

void Session::run_next(std::unique_lock<std::mutex>& lock) {
    Batch batch = std::move(queue_.front());
    queue_.pop_front();
    ++working_;
    ++turns_;
    if (is_watcher_asleep_) watcher_changed_.notify_one();
    if (waiting_ > 0) idle_changed_.notify_one();  // to read, or to run the next batch
    lock.unlock();
    answering_->run(batch);
    batch.clear();
    lock.lock();
    --working_;
}

void Session::begin_work() {
    const std::lock_guard lock(lock_);
    ++working_;
    ++turns_;
    watcher_changed_.notify_one();
}

void Session::end_work() {
    const std::lock_guard lock(lock_);
    --working_;
}

/// Runs the asides, which need no slot, on a thread of their own. The first aside starts this
/// thread.
void Session::run_asides() {
    std::unique_lock lock(lock_);
    while (true) {
        aside_came_.wait(lock, [&] { return !asides_.empty() || is_stopping_; });
        if (is_stopping_) return;
        Batch batch = std::move(asides_.front());
        asides_.pop_front();
        ++working_;
        lock.unlock();
        answering_->run(batch);
        lock.lock();
        --working_;
    }
}

/// Sleeps while nothing runs. Starts to read if a job has run for a while and no other thread
/// reads.
void Session::watch() {
    std::unique_lock lock(lock_);
    while (!is_stopping_) {
        is_watcher_asleep_ = true;
        watcher_changed_.wait(lock, [&] { return working_ > 0 || is_stopping_; });
        is_watcher_asleep_ = false;
        const std::uint64_t seen = turns_;
        watcher_changed_.wait_for(lock, watch_after, [&] { return is_stopping_; });
        if (is_stopping_ || has_reader_ || working_ == 0 || turns_ != seen) continue;
        has_reader_ = is_watcher_reading_ = true;
        lock.unlock();
        while (link_.wait() && read_available()) {
        }
        lock.lock();
        has_reader_ = is_watcher_reading_ = false;
        idle_changed_.notify_one();
    }
}

}  // namespace turnpike::inside
