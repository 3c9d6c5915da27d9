#include "supervisor/started_worker.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "os/cgroup.h"
#include "os/leftovers.h"
#include "os/spawn.h"

namespace turnpike {

namespace asio = boost::asio;

namespace {

constexpr Duration look_every = 50ms;  // at its port, until it listens …
constexpr Duration look_often_for = 10s;
constexpr Duration look_seldom_every = 250ms;     // … if it takes long
constexpr std::uint32_t looks_per_thorough = 10;  // that also tell where it listens instead …
constexpr std::uint32_t first_thorough = 3;       // … beginning with this one
constexpr Duration progress_every = 250ms;        // how often output renews load_timeout
constexpr Duration exit_delay = 250ms;  // how long news of an exit may take after a link broke

}  // namespace

StartedWorker::StartedWorker(WorkerSurroundings& surroundings, Premises& premises,
                             const StartWorker& start, const Lane& lane)
    : HttpWorker(surroundings, start,
                 {.pool = lane.pool, .host = "localhost", .prefix = "", .groups = lane.groups}),
      premises_(premises),
      plan_(lane.plan),
      output_(lane.output) {}

StartedWorker::~StartedWorker() {
    if (guarded_ != nullptr) guarded_->abandon();
}

// ── coming up ────────────────────────────────────────────────────────────────────────────────────

void StartedWorker::start() {
    asked_at_ = around_.clock.now();
    LaneFacts& lane = facts();
    lane.start = {};
    lane.started_at = asked_at_;
    lane.last_line.clear();
    output_.forget_last_line();
    log_began_ = output_.log().newest();
    if (const auto why_not = choose_place()) return could_not_start(*why_not);
    if (premises_.cgroup_home)
        group_ = make_cgroup(
            *premises_.cgroup_home,
            fmt::format("turnpike-{}-{}", premises_.mark.substr(premises_.mark.rfind(':') + 1),
                        premises_.starts));
    guarded_ = std::make_shared<Guarded>(around_.loop, premises_.children, user());
    auto output = guarded_->start({.label = fmt::format("lane {}", lane_.value),
                                   .open_files = premises_.open_files,
                                   .cgroup = group_,
                                   .folder = post_.pool.worker.folder,
                                   .command = command_},
                                  environment());
    if (!output) return could_not_start(output.error());
    output_.attach(std::move(output->out), LogStream::out);
    output_.attach(std::move(output->err), LogStream::err);
}

/// Where it shall listen, and the command that says so. Something: why it can't be.
std::optional<std::string> StartedWorker::choose_place() {
    const std::string& command = post_.pool.worker.command;
    ++premises_.starts;
    if (command.contains("{socket}")) {
        socket_path_ = fmt::format("{}/w{}", premises_.folder, premises_.starts);
        if (socket_path_.size() > socket_path_max) return "the path of its socket is too long";
        ::unlink(socket_path_.c_str());
        destination_.endpoints = {asio::local::stream_protocol::endpoint(socket_path_)};
    } else {
        const auto port = choose_port(premises_.ports, premises_.random());
        if (!port) return "no TCP port is free";
        port_ = *premises_.ports.insert(*port).first;
    }
    command_ = filled_command(command, plan_, lane_.value, {.port = port_, .socket = socket_path_});
    return std::nullopt;
}

std::vector<std::string> StartedWorker::environment() const {
    std::vector<std::string> environment = premises_.environment;
    for (const auto& [name, value] :
         lane_environment(post_.pool, plan_, lane_.value, premises_.machine))
        set_variable(environment, name, value);
    set_variable(environment, run_variable, premises_.mark);
    return environment;
}

GuardedUser StartedWorker::user() {
    const auto weak = std::weak_ptr(std::static_pointer_cast<StartedWorker>(shared_from_this()));
    const auto with = [weak](auto what) {
        return [weak, what](const auto& news) {
            if (const auto self = weak.lock()) ((*self).*what)(news);
        };
    };
    return {.started = with(&StartedWorker::started),
            .exited = with(&StartedWorker::exited),
            .stuck = with(&StartedWorker::stuck),
            .gone = with(&StartedWorker::gone)};
}

void StartedWorker::could_not_start(const std::string& why) {
    exited({.how = "it could not be started: " + why});
    gone({});
}

void StartedWorker::started(const ProcessId& process) {
    process_ = process;
    started_at_ = around_.clock.now();
    LaneFacts& lane = facts();
    lane.pid = process.pid;
    lane.start.spawn = started_at_ - asked_at_;
    note("");  // of the one before
    output_.remark(fmt::format("started, pid {}: {}", process.pid, command_));
    known_ = {process};
    if (const auto guard = read_process(guarded_->guard())) known_.push_back(guard->id);
    premises_.processes_changed();
    around_.deliver(WorkerStarted{worker_});
    come_up();
}

/// Until it listens, a look at the process table; from then on its health path.
void StartedWorker::come_up() {
    if (state_ != State::coming) return;
    if (listens_at_ != never) return knock();
    if (port_ == 0) return ::access(socket_path_.c_str(), F_OK) == 0 ? listens() : look_later();
    const PortLook look =
        looks_++ % looks_per_thorough == first_thorough ? PortLook::thorough : PortLook::quick;
    premises_.process_table.run([port = port_, guard = guarded_->guard(),
                                 look] { return std::pair(look_at_port(port, guard, look), look); },
                                [this, stays = self()](const std::pair<PortSight, PortLook>& seen) {
                                    port_seen(seen.first, seen.second);
                                });
}

void StartedWorker::look_later() {
    const bool is_early = around_.clock.now() - started_at_ < look_often_for;
    after(is_early ? look_every : look_seldom_every, [this] { come_up(); });
}

void StartedWorker::port_seen(const PortSight& sight, PortLook look) {
    if (state_ != State::coming) return;
    switch (sight.holder) {
        case PortSight::Holder::tree:
            facts().remark = sight.is_exposed
                                 ? "its worker listens on every address, so that other machines "
                                   "reach it past the gate: add --host 127.0.0.1 to its command"
                                 : "";
            return reached_by(sight.protocol);
        case PortSight::Holder::stranger:
            note(fmt::format("{} listens on its port {}, and its worker did not start that",
                             sight.stranger, port_));
            break;
        case PortSight::Holder::nobody:
            if (look == PortLook::quick) break;
            note(sight.instead.empty()
                     ? ""
                     : fmt::format("its worker listens on port {}, not yet on {}, its {{port}}",
                                   fmt::join(sight.instead, ", "), port_));
            break;
    }
    look_later();
}

/// By this way only: whoever listens on the port by another is a stranger.
void StartedWorker::reached_by(PortSight::Protocol protocol) {
    const bool is_v4 = protocol == PortSight::Protocol::ipv4;
    destination_.endpoints = {
        is_v4 ? asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), port_)
              : asio::ip::tcp::endpoint(asio::ip::address_v6::loopback(), port_)};
    post_.host = fmt::format("{}:{}", is_v4 ? "127.0.0.1" : "[::1]", port_);
    listens();
}

void StartedWorker::listens() {
    listens_at_ = around_.clock.now();
    facts().start.listen = listens_at_ - started_at_;
    note("");
    knock();
}

void StartedWorker::came_up() {
    facts().start.load = around_.clock.now() - listens_at_;
    premises_.process_table.run(
        [guard = guarded_->guard()] { return descendants_of(guard, list_processes()); },
        [this, stays = self()](const std::vector<ProcessFacts>& tree) {
            if (state_ != State::up) return;
            for (const ProcessFacts& process : tree)
                if (process.id != process_) known_.push_back(process.id);
            premises_.processes_changed();
        });
}

void StartedWorker::printed() {
    if (state_ != State::coming) return;
    facts().last_line = output_.log().last_line();
    // Servers log our health checks, too: that is no progress.
    const bool is_echo = listens_at_ != never && facts().last_line.contains(post_.pool.health_path);
    if (is_echo) return;
    const Instant now = around_.clock.now();
    const Duration pause = std::min(progress_every, post_.pool.settings.load_timeout / 4);
    if (now - progressed_at_ < pause) return;
    progressed_at_ = now;
    around_.deliver(LoadProgressed{worker_});
}

// ── trouble ──────────────────────────────────────────────────────────────────────────────────────

/// A link that breaks may be the first sign of a death; how it died is worth waiting for.
void StartedWorker::lost_touch(const std::function<void()>& say) {
    is_doubted_ = true;
    after(exit_delay, [this, say] {
        if (state_ == State::up) say();
    });
}

/// Whoever took the port since must not answer for it.
void StartedWorker::check_identity(Check check, const std::function<void(bool)>& then) {
    const bool was_doubted = std::exchange(is_doubted_, false);
    if (port_ == 0 || (check == Check::if_doubted && !was_doubted)) return then(true);
    premises_.process_table.run(
        [port = port_, guard = guarded_->guard()] {
            return look_at_port(port, guard, PortLook::quick);
        },
        [stays = self(), then](const PortSight& sight) {
            then(sight.holder == PortSight::Holder::tree);
        });
}

void StartedWorker::proof_broke(std::uint32_t number) {
    lost_touch(
        [this, number] { around_.deliver(ProofEnded{worker_, number, ProofVerdict::failed}); });
}

void StartedWorker::stuck(const std::string& who) {
    note(fmt::format("{} survives SIGKILL: it may be stuck in the GPU driver", who));
    output_.remark(fmt::format("{} survives SIGKILL", who));
}

// ── the end ──────────────────────────────────────────────────────────────────────────────────────

void StartedWorker::stop(Reason why) {
    order(why);
    if (guarded_ != nullptr) guarded_->terminate();
}

void StartedWorker::kill(Reason why) {
    order(why);
    if (guarded_ != nullptr) guarded_->kill();
}

void StartedWorker::order(Reason why) {
    if (ordered_ != Reason::none || state_ == State::over) return;
    ordered_ = why;
    trouble_before_ = facts().trouble;
}

void StartedWorker::exited(const WorkerEnd& end) {
    end_ = end;
    ended_at_ = around_.clock.now();
    keep_inputs();
    LaneFacts& lane = facts();
    lane.pid = 0;
    lane.last_exit = end.how;
    output_.read_now();  // what it said last
    if (!was_wanted(ordered_)) note(trouble_of(ending()));
    close({.trouble = "its worker died: " + end.how, .last_words = last_words(ending())});
    around_.deliver(WorkerExited{worker_});
}

WorkerEnding StartedWorker::ending() const {
    return {.end = end_,
            .ordered = ordered_,
            .load_timeout = post_.pool.settings.load_timeout,
            .trouble_before = trouble_before_,
            .log = output_.log(),
            .log_began = log_began_};
}

void StartedWorker::gone(const std::vector<pid_t>& pids) {
    output_.detach_all();
    if (!was_wanted(ordered_)) note(trouble_of(ending()));
    output_.remark("ended: " + end_.how);
    if (!group_.empty()) remove_cgroup(std::exchange(group_, {}));
    if (!socket_path_.empty()) ::unlink(socket_path_.c_str());
    premises_.ports.erase(port_);
    known_.clear();
    premises_.processes_changed();
    if (!was_wanted(ordered_)) premises_.crashed(crash_report());
    if (ordered_ == Reason::shutting_down) return over(Memory::freed, pids);
    premises_.gpus.ask_memory(lane_, pids,
                              [this, stays = self(), pids](Memory memory) { over(memory, pids); });
}

void StartedWorker::over(Memory memory, const std::vector<pid_t>& pids) {
    guarded_ = nullptr;
    if (memory == Memory::held) premises_.gpus.tell_when_freed(lane_, pids);
    around_.deliver(WorkerGone{worker_, memory});
}

void StartedWorker::keep_inputs() {
    const CrashConfig& rules = premises_.crashes;
    if (!rules.inputs || rules.keep == 0 || was_wanted(ordered_)) return;
    std::uint64_t room = rules.input_max.count;  // for all of them
    for (const ExchangePtr& exchange : aboard()) {
        inputs_.push_back(input_of(*exchange, room));
        room -= std::min(room, exchange->body.size());
    }
}

CrashReport StartedWorker::crash_report() const {
    CrashReport report{
        .unix_ns = around_.clock.unix_ns(ended_at_),
        .lane = lane_.value,
        .pool = post_.pool.name,
        .generation = generation_.value,
        .pid = process_.pid,
        .command = command_,
        .why = std::string(name_of(ordered_ == Reason::none ? Reason::exited : ordered_)),
        .how = end_.how,
        .exit_code = exit_code_of(end_),
        .signal = signal_of(end_),
        .lived = ended_at_ - asked_at_,
        .log = last_lines(ending()),
        .inputs = inputs_};
    if (end_.memory_peak_kib > 0)
        report.memory_peak = Bytes{static_cast<std::uint64_t>(end_.memory_peak_kib) * 1024};
    add_gpus(report, around_.lanes[lane_.value]);
    return report;
}

void StartedWorker::after(Duration wait, std::function<void()> then) {
    const auto timer = std::make_shared<asio::steady_timer>(around_.loop, wait);
    timer->async_wait(
        [timer, then = std::move(then), stays = self()](boost::system::error_code error) {
            if (!error) then();
        });
}

}  // namespace turnpike
