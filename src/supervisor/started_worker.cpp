#include "supervisor/started_worker.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "config/units.h"
#include "http/fields.h"
#include "os/cgroup.h"
#include "os/leftovers.h"
#include "os/spawn.h"

namespace turnpike {

namespace asio = boost::asio;

namespace {

constexpr Duration look_every = 50ms;       // at its port, until it listens
constexpr Duration progress_every = 250ms;  // how often output renews load_timeout
constexpr Duration exit_delay = 250ms;      // how long news of an exit may take after a link broke
constexpr std::size_t socket_path_max = 107;
constexpr std::size_t last_lines = 50;  // of the log, for a crash report

std::optional<int> status_if(const std::optional<ExitStatus>& exit, bool is_exit) {
    if (!exit || (exit->code == CLD_EXITED) != is_exit) return std::nullopt;
    return exit->status;
}

/// What exit codes may mean that a worker did not choose itself.
std::string_view hint_for(const std::optional<ExitStatus>& exit) {
    const std::optional<int> code = status_if(exit, true);
    if (code == 0) return " (a worker must stay in the foreground)";
    if (code == 126) return " (the shell may not run the program)";
    if (code == 127) return " (the shell did not find the program)";
    return "";
}

/// The value of a field in "Name: value\r\n…"; empty: there is none.
std::string_view field_in(std::string_view fields, std::string_view name) {
    while (!fields.empty()) {
        const std::string_view line = fields.substr(0, fields.find("\r\n"));
        const std::size_t colon = line.find(':');
        if (colon != std::string_view::npos && http::is_named(line.substr(0, colon), name))
            return line.substr(std::min(colon + 2, line.size()));
        fields.remove_prefix(std::min(line.size() + 2, fields.size()));
    }
    return {};
}

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
            fmt::format("turnpike-{}-{}-{}", ::getpid(),
                        premises_.mark.substr(premises_.mark.rfind(':') + 1), premises_.starts));
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
        const auto v4 = asio::ip::address_v4::loopback();
        const auto v6 = asio::ip::address_v6::loopback();
        destination_.endpoints = {asio::ip::tcp::endpoint(v4, port_),
                                  asio::ip::tcp::endpoint(v6, port_)};
        post_.host = fmt::format("127.0.0.1:{}", port_);
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
    premises_.process_table.run(
        [port = port_, guard = guarded_->guard()] { return look_at_port(port, guard); },
        [this, stays = self()](const PortSight& sight) { port_seen(sight); });
}

void StartedWorker::look_later() {
    after(look_every, [this] { come_up(); });
}

void StartedWorker::port_seen(const PortSight& sight) {
    if (state_ != State::coming) return;
    switch (sight.holder) {
        case PortSight::Holder::tree: return listens();
        case PortSight::Holder::stranger:
            note(fmt::format("{} listens on its port {}, and its worker did not start that",
                             sight.stranger, port_));
            break;
        case PortSight::Holder::nobody:
            note(sight.instead.empty()
                     ? ""
                     : fmt::format("its worker listens on port {}, not on {} as {{port}} says",
                                   fmt::join(sight.instead, ", "), port_));
            break;
    }
    look_later();
}

void StartedWorker::listens() {
    listens_at_ = around_.clock.now();
    facts().start.listen = listens_at_ - started_at_;
    note("");
    knock();
}

void StartedWorker::came_up() {
    facts().start.load = around_.clock.now() - listens_at_;
    const std::vector<ProcessFacts> all = list_processes();
    for (const ProcessFacts& process : descendants_of(guarded_->guard(), all))
        if (process.id != process_) known_.push_back(process.id);
    premises_.processes_changed();
}

void StartedWorker::printed() {
    if (state_ != State::coming) return;
    facts().last_line = output_.log().last_line();
    const Instant now = around_.clock.now();
    const Duration pause = std::min(progress_every, post_.pool.settings.load_timeout / 4);
    if (now - progressed_at_ < pause) return;
    progressed_at_ = now;
    around_.deliver(LoadProgressed{worker_});
}

// ── trouble ──────────────────────────────────────────────────────────────────────────────────────

/// A link that breaks may be the first sign of a death; how it died is worth waiting for.
void StartedWorker::lost_touch(std::function<void()> say) {
    after(exit_delay, [this, say = std::move(say)] {
        if (state_ == State::up) say();
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
    if (!was_ordered()) note(trouble_at_exit());
    output_.read_now();  // what it said last
    close({.trouble = "its worker died: " + end.how, .last_words = last_words()});
    around_.deliver(WorkerExited{worker_});
}

/// The end of what it wrote to stderr.
std::string StartedWorker::last_words() const {
    constexpr std::size_t lines_max = 5;
    std::string words;
    std::size_t lines = 0;
    for (const LogLine* line : output_.log().lines(log_began_, last_lines) | std::views::reverse) {
        if (line->stream != LogStream::err || line->text.empty()) continue;
        words = words.empty() ? line->text : line->text + " | " + words;
        if (++lines == lines_max) break;
    }
    return words;
}

/// "exit code 127: sh: 1: uvicorn: not found": the last thing it said often is the reason.
std::string StartedWorker::trouble_at_exit() const {
    const std::string& said = output_.log().last_line();
    if (ordered_ != Reason::none) return trouble_behind_order(said);
    return fmt::format("{}{}{}{}", end_.how, hint_for(end_.exit), said.empty() ? "" : ": ", said);
}

/// That it was killed is no news where we did it; why we did is.
std::string StartedWorker::trouble_behind_order(const std::string& said) const {
    const std::string& more = trouble_before_.empty() ? said : trouble_before_;
    if (ordered_ == Reason::load_silent)
        return fmt::format("no progress for {} (load_timeout){}{}",
                           text_of(post_.pool.settings.load_timeout), more.empty() ? "" : ": ",
                           more);
    if (!trouble_before_.empty()) return trouble_before_;
    if (ordered_ == Reason::gpu_lost) return "";  // the lane's own reason says it
    std::string why(name_of(ordered_));
    std::ranges::replace(why, '_', ' ');
    return "Turnpike ended it: " + why;
}

void StartedWorker::gone(const std::vector<pid_t>& pids) {
    output_.detach_all();
    if (!was_ordered()) note(trouble_at_exit());
    output_.remark("ended: " + end_.how);
    if (!group_.empty()) remove_cgroup(group_);
    if (!socket_path_.empty()) ::unlink(socket_path_.c_str());
    premises_.ports.erase(port_);
    known_.clear();
    premises_.processes_changed();
    if (!was_ordered()) premises_.crashed(crash_report());
    if (ordered_ == Reason::shutting_down) return over(Memory::freed, pids);
    premises_.gpus.ask_memory(lane_, pids,
                              [this, stays = self(), pids](Memory memory) { over(memory, pids); });
}

void StartedWorker::over(Memory memory, const std::vector<pid_t>& pids) {
    is_over_ = true;
    guarded_ = nullptr;
    if (memory == Memory::held) premises_.gpus.tell_when_freed(lane_, pids);
    around_.deliver(WorkerGone{worker_, memory});
}

/// Nobody needs a report of these.
bool StartedWorker::was_ordered() const {
    switch (ordered_) {
        case Reason::restart_asked:
        case Reason::drain_asked:
        case Reason::replaced:
        case Reason::reload_abandoned:
        case Reason::shutting_down:
        case Reason::job_cancelled: return true;
        case Reason::none:
        case Reason::exited:
        case Reason::load_silent:
        case Reason::misbehaved:
        case Reason::unhealthy:
        case Reason::not_answering:
        case Reason::proof_failed:
        case Reason::proof_silent:
        case Reason::disagrees:
        case Reason::job_stuck:
        case Reason::gpu_lost:
        case Reason::will_not_die:
        case Reason::crashed_too_often:
        case Reason::worker_away:
        case Reason::memory_held:
        case Reason::turn_to_load:
        case Reason::failing_jobs:
        case Reason::link_doubted:
        case Reason::proof_due: return false;
    }
    return false;
}

/// Bodies in memory only: what is on disk is too large to be looked at anyway.
void StartedWorker::keep_inputs() {
    if (!premises_.crashes.inputs || premises_.crashes.keep == 0 || was_ordered()) return;
    for (const ExchangePtr& exchange : aboard()) {
        const std::string_view body = exchange->body.is_in_memory() ? exchange->body.bytes() : "";
        const std::string_view kept = body.substr(0, premises_.crashes.input_max.count);
        inputs_.push_back({.job = std::string(field_in(exchange->fields, "Turnpike-Job")),
                           .request = exchange->method + ' ' +
                                      exchange->target.substr(0, exchange->target.find('?')),
                           .content_type = std::string(field_in(exchange->fields, "Content-Type")),
                           .body = std::string(kept),
                           .is_cut = kept.size() < exchange->body.size()});
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
        .exit_code = status_if(end_.exit, true),
        .signal = status_if(end_.exit, false),
        .lived = ended_at_ - asked_at_,
        .inputs = inputs_};
    if (end_.memory_peak_kib > 0)
        report.memory_peak = Bytes{static_cast<std::uint64_t>(end_.memory_peak_kib) * 1024};
    for (const GpuFacts& gpu : around_.lanes[lane_.value].gpus) {
        report.gpus.push_back(gpu.index ? fmt::format("{} {} {}", *gpu.index, gpu.uuid, gpu.name)
                                        : gpu.uuid);
        if (gpu.memory_used)
            report.gpu_memory_used =
                Bytes{report.gpu_memory_used.value_or(Bytes{}).count + gpu.memory_used->count};
    }
    for (const LogLine* line : output_.log().lines(log_began_, last_lines))
        report.log += fmt::format("{} {}\n", name_of(line->stream), line->text);
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
