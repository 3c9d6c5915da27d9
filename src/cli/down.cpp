#include "cli/down.h"

#include <poll.h>
extern "C" {  // glibc 2.36 forgets it
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
#include "os/file.h"
#include "setup/environment.h"
#include "terminal/facts.h"

namespace turnpike {
namespace {

using WallClock = std::chrono::steady_clock;

constexpr Duration told_every = 3s;
constexpr Duration notice_max = 2s;  // for a gate to notice the first signal

struct EndingGate {
    RunningGate gate;
    UniqueFd process;

    [[nodiscard]] std::optional<Ending> look() const {
        const auto answer = ask(gate.folder + "/socket", {.target = "/-/status"}, {.timeout = 1s});
        return answer && answer->status == 200 ? ending_in(answer->body) : std::nullopt;
    }
    /// True: it has ended.
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

/// A pid alone may be somebody else's by now. While the lock names it, it is the gate's; a process
/// whose descriptor was open before the lock was looked at is that one.
std::expected<EndingGate, Trouble> find_gate(const std::optional<std::string>& name) {
    const auto first = choose_gate(list_running(runtime_place()), name);
    if (!first) return std::unexpected(first.error());
    UniqueFd process(::pidfd_open(first->pid, 0));
    if (!process && errno != ESRCH)
        return std::unexpected(
            Trouble{exit_failed, fmt::format("the gate {} (pid {}) can't be watched: {}",
                                             first->name, first->pid, std::strerror(errno))});
    const auto again = choose_gate(list_running(runtime_place()), first->name);
    if (!again) return std::unexpected(again.error());
    if (!process || again->pid != first->pid)
        return std::unexpected(Trouble{
            exit_failed, fmt::format("the gate {} was replaced just now; try again", first->name)});
    return EndingGate{*first, std::move(process)};
}

/// Signals of one kind that meet count as one, so the second waits until the first was noticed.
std::expected<void, std::string> stop(const EndingGate& ending, bool now) {
    const auto state = ending.look();
    const bool has_begun = state && state->has_begun;
    if (!has_begun)
        if (const auto told = ending.tell_to_stop(); !told) return told;
    if (!now) return {};
    const auto until = WallClock::now() + notice_max;
    while (!has_begun && WallClock::now() < until && !ending.is_gone_within(20ms)) {
        const auto seen = ending.look();
        if (seen && seen->has_begun) break;
    }
    return ending.tell_to_stop();
}

void tell_what_it_waits_for(const EndingGate& ending) {
    const auto state = ending.look();
    const std::string gate =
        fmt::format("turnpike: gate {} (pid {})", ending.gate.name, ending.gate.pid);
    if (!state)
        advise(gate + " is still there\n");
    else if (state->jobs > 0)
        advise(fmt::format("{} waits for {} job{}; without them: turnpike down --now\n", gate,
                           state->jobs, state->jobs == 1 ? "" : "s"));
    else
        advise(gate + " ends its workers\n");
}

std::string json_of(const EndingGate& ending, Duration waited) {
    std::string page;
    JsonWriter json(page);
    json.open_object();
    json.member("gate", ending.gate.name);
    json.member("pid", ending.gate.pid);
    json.member("waited_s", waited);
    json.close_object();
    return page + '\n';
}

}  // namespace

std::optional<Ending> ending_in(std::string_view text) {
    const auto page = parse_facts(text);
    if (!page) return std::nullopt;
    Ending ending{.has_begun = is_true(*page, "shutting_down")};
    for (const boost::json::value& pool : list_of(*page, "pools"))
        for (const std::string_view key : {"arriving", "queued", "running"})
            ending.jobs += count_of(object_of(pool), key);
    return ending;
}

int run(const DownCommand& command) {
    const auto ending = find_gate(command.gate);
    if (!ending) return complain(ending.error().message, ending.error().exit_code);
    const auto start = WallClock::now();
    if (const auto told = stop(*ending, command.now); !told) return complain(told.error());
    while (!ending->is_gone_within(told_every)) tell_what_it_waits_for(*ending);
    const Duration waited = WallClock::now() - start;
    if (command.json) return print(json_of(*ending, waited));
    return print(fmt::format("gate {} (pid {}) is down\n", ending->gate.name, ending->gate.pid));
}

}  // namespace turnpike
