#include "cli/down.h"

#include <poll.h>
extern "C" {  // missing in the header of glibc 2.36
#include <sys/pidfd.h>
}

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/json_writer.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/running_gate.h"
#include "config/units.h"
#include "os/file.h"
#include "os/process.h"
#include "setup/environment.h"
#include "terminal/facts.h"

namespace turnpike {
namespace {

using WallClock = std::chrono::steady_clock;

constexpr Duration message_every = 3s;
constexpr Duration notice_max = 2s;    // how long a gate may take to notice the first signal
constexpr Duration silence_max = 15s;  // then a gate that does not answer counts as hanging

struct StoppingGate {
    RunningGate gate;
    UniqueFd process;

    [[nodiscard]] std::optional<ShutdownState> ask_state() const {
        const auto answer = ask(gate.socket, {.target = "/-/status"}, {.timeout = 1s});
        return answer && answer->status == 200 ? shutdown_state_in(answer->body) : std::nullopt;
    }
    /// True if the process ended within this time.
    [[nodiscard]] bool is_gone_within(Duration time) const {
        pollfd one{.fd = process.get(), .events = POLLIN, .revents = 0};
        const auto ms = std::chrono::ceil<std::chrono::milliseconds>(time).count();
        return ::poll(&one, 1, static_cast<int>(ms)) == 1;
    }
    [[nodiscard]] std::expected<void, std::string> tell_to_stop() const {
        if (::pidfd_send_signal(process.get(), SIGTERM, nullptr, 0) == 0 || errno == ESRCH)
            return {};
        return std::unexpected(fmt::format("the gate {} (pid {}) can't be told to stop: {}",
                                           gate.name, gate.pid, std::strerror(errno)));
    }
};

/// A pid alone may belong to another process by now. While the gate's lock names a pid, that pid is
/// the gate's. So open a pidfd first and read the lock again: if the pid is the same, the pidfd is
/// the gate's.
std::expected<StoppingGate, CommandError> find_gate(const std::optional<std::string>& name) {
    const auto first = choose_gate(list_running(runtime_place()), name);
    if (!first) return std::unexpected(first.error());
    UniqueFd process(::pidfd_open(first->pid, 0));
    if (!process && errno != ESRCH)
        return std::unexpected(
            CommandError{exit_failed, fmt::format("the gate {} (pid {}) can't be watched: {}",
                                                  first->name, first->pid, std::strerror(errno))});
    const auto again = choose_gate(list_running(runtime_place()), first->name);
    if (!again) return std::unexpected(again.error());
    if (!process || again->pid != first->pid)
        return std::unexpected(CommandError{
            exit_failed, fmt::format("the gate {} was replaced by another one just now; try again",
                                     first->name)});
    return StoppingGate{*first, std::move(process)};
}

/// Two pending signals of the same kind count as one, so the second is sent after the gate has
/// noticed the first.
std::expected<void, std::string> stop(const StoppingGate& stopping, bool now) {
    const auto state = stopping.ask_state();
    const bool has_begun = state && state->has_begun;
    if (!has_begun)
        if (const auto told = stopping.tell_to_stop(); !told) return told;
    if (!now) return {};
    const auto until = WallClock::now() + notice_max;
    while (!has_begun && WallClock::now() < until && !stopping.is_gone_within(20ms)) {
        const auto seen = stopping.ask_state();
        if (seen && seen->has_begun) break;
    }
    return stopping.tell_to_stop();
}

/// True if the process stands still, by SIGSTOP, Ctrl-Z or a debugger.
bool is_suspended(const StoppingGate& stopping) {
    const auto process = read_process(stopping.gate.pid);
    return process && (process->state == 'T' || process->state == 't');
}

void print_what_it_waits_for(const StoppingGate& stopping,
                             const std::optional<ShutdownState>& state) {
    const std::string gate =
        fmt::format("turnpike: gate {} (pid {})", stopping.gate.name, stopping.gate.pid);
    if (!state)
        print_to_stderr(fmt::format("{} is still running, but does not answer\n", gate));
    else if (state->jobs > 0)
        print_to_stderr(fmt::format("{} waits for {} job{}; to stop at once: turnpike down --now\n",
                                    gate, state->jobs, state->jobs == 1 ? "" : "s"));
    else
        print_to_stderr(gate + " is ending its workers\n");
}

CommandError hanging(const StoppingGate& stopping) {
    const RunningGate& gate = stopping.gate;
    const std::string kill =
        fmt::format("kill -KILL {} (its workers end with it, and its jobs are lost)", gate.pid);
    if (is_suspended(stopping))
        return {exit_failed,
                fmt::format("the gate {} (pid {}) is suspended (by SIGSTOP, Ctrl-Z or a debugger), "
                            "so it can't stop; it stops as soon as it continues: kill -CONT {}; to "
                            "end it at once: {}",
                            gate.name, gate.pid, gate.pid, kill)};
    return {exit_failed,
            fmt::format("the gate {} (pid {}) was told to stop, but has not answered for {}; wait, "
                        "and try turnpike down --now; if it hangs, end it: {}",
                        gate.name, gate.pid, text_of(silence_max), kill)};
}

/// Waits as long as the gate answers: its own limits end it. Returns an error if it falls silent.
std::expected<void, CommandError> await_end(const StoppingGate& stopping) {
    auto heard_at = WallClock::now();
    while (!stopping.is_gone_within(message_every)) {
        const auto state = stopping.ask_state();
        if (state) heard_at = WallClock::now();
        if (WallClock::now() - heard_at > silence_max) return std::unexpected(hanging(stopping));
        print_what_it_waits_for(stopping, state);
    }
    return {};
}

std::string json_of(const StoppingGate& stopping, Duration waited) {
    std::string page;
    JsonWriter json(page);
    json.open_object();
    json.member("gate", stopping.gate.name);
    json.member("pid", stopping.gate.pid);
    json.member("waited_s", waited);
    json.close_object();
    return page + '\n';
}

}  // namespace

std::optional<ShutdownState> shutdown_state_in(std::string_view text) {
    const auto page = parse_facts(text);
    if (!page) return std::nullopt;
    ShutdownState state{.has_begun = is_true(*page, "shutting_down")};
    for (const boost::json::value& pool : list_of(*page, "pools"))
        for (const std::string_view key : {"arriving", "queued", "running"})
            state.jobs += count_of(object_of(pool), key);
    return state;
}

int run(const DownCommand& command) {
    const auto stopping = find_gate(command.gate);
    if (!stopping) return complain(stopping.error());
    const auto start = WallClock::now();
    if (const auto told = stop(*stopping, command.now); !told) return complain(told.error());
    if (const auto gone = await_end(*stopping); !gone) return complain(gone.error());
    const Duration waited = WallClock::now() - start;
    if (command.json) return print(json_of(*stopping, waited));
    return print(
        fmt::format("gate {} (pid {}) is down\n", stopping->gate.name, stopping->gate.pid));
}

}  // namespace turnpike
