#include "supervisor/process/warm.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/buffer.hpp>
#include <boost/json.hpp>

#include "config/units.h"
#include "os/file.h"
#include "os/send.h"
#include "os/spawn.h"

namespace turnpike {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

constexpr std::size_t message_max = 16 * std::size_t{1024};  // bytes of a message from the process
constexpr std::uint32_t failures_max = 5;    // after so many in a row, no other process is built
constexpr Duration import_usual_max = 1min;  // a longer import is reported to people

struct Ends {
    UniqueFd ours, theirs;
};

bool make_ends(Ends& sockets, Ends& output) {
    int pair[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return false;
    sockets = {UniqueFd(pair[0]), UniqueFd(pair[1])};
    if (::pipe2(pair, O_CLOEXEC) != 0) return false;
    output = {UniqueFd(pair[0]), UniqueFd(pair[1])};
    return true;
}

/// Returns the lines NAME=VALUE of the imports file. These variables are set before the imports,
/// even if `preload` names other imports.
std::string settings_in(const std::string& imports) {
    std::istringstream lines(imports);
    std::string settings;
    for (std::string line; std::getline(lines, line);)
        if (line.contains('=')) settings += '\n' + line;
    return settings;
}

}  // namespace

WarmProcess::Process::~Process() {
    if (pid != 0 && children.has(pid)) ::kill(pid, SIGKILL);
}

WarmProcess::WarmProcess(asio::io_context& loop, Children& children, LaneOutput& output,
                         WarmSpec spec)
    : loop_(loop), children_(children), output_(output), spec_(std::move(spec)), timer_(loop) {}

WarmProcess::~WarmProcess() = default;

void WarmProcess::close() {
    is_closed_ = true;
    timer_.cancel();
    ready_ = coming_ = nullptr;
}

void WarmProcess::learn() {
    if (is_closed_) return;
    std::string imports = read_file(spec_.imports).value_or("");
    if (!spec_.preload.empty()) imports = "named" + settings_in(imports);
    if (imports.empty() || imports == built_of_) return;
    built_of_ = std::move(imports);
    failures_ = 0;
    build();
}

void WarmProcess::say(WarmTrouble trouble) {
    output_.remark("warm process: " + sentence_of(trouble, "it"));
    trouble_ = std::move(trouble);
}

// ── coming ───────────────────────────────────────────────────────────────────────────────────────

void WarmProcess::build() {
    auto made = make();
    coming_ = made ? *made : nullptr;
    if (coming_ != nullptr) {
        after(usual_max(), coming_, &WarmProcess::report_slow_import);
        return listen(coming_);
    }
    say(made.error());
    build_later();
}

Duration WarmProcess::usual_max() const { return std::min(import_usual_max, spec_.import_max / 2); }

/// Calls `then` after this time if the process is still coming up.
void WarmProcess::after(Duration time, const ProcessPtr& process,
                        void (WarmProcess::*then)(const ProcessPtr&)) {
    process->patience.expires_after(time);
    process->patience.async_wait([weak = weak_from_this(), which = std::weak_ptr(process),
                                  then](boost::system::error_code error) {
        const auto self = weak.lock();
        const auto late = which.lock();
        if (self != nullptr && late != nullptr && !error && self->coming_ == late)
            (self.get()->*then)(late);
    });
}

/// Tells people which import takes so long. Workers import the same modules and have come up, so
/// something is wrong with the warm process.
void WarmProcess::report_slow_import(const ProcessPtr& process) {
    const WarmTrouble trouble{
        .why = WhyCold::still_importing,
        .details = fmt::format("{} after {}", process->importing, text_of(usual_max()))};
    say(trouble);
    news_ =
        fmt::format("{}; {} (to change that, set preload = [...] or warm = false: docs/reload.md)",
                    sentence_of(trouble, "its warm process"),
                    ready_ == nullptr ? "starts are cold until it is ready"
                                      : "until it is ready, the old one is used");
    after(spec_.import_max - usual_max(), process, &WarmProcess::end_stuck_import);
}

void WarmProcess::end_stuck_import(const ProcessPtr& process) {
    say({.why = WhyCold::import_ended,
         .details = fmt::format("{} after {}", process->importing, text_of(spec_.import_max))});
    forget(process);
}

std::expected<WarmProcess::ProcessPtr, WarmTrouble> WarmProcess::make() {
    Ends sockets;
    Ends output;
    const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const UniqueFd program(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    if (!make_ends(sockets, output) || !nothing || !program)
        return std::unexpected(
            WarmTrouble{WhyCold::no_descriptors,
                        fmt::format("no pipe could be made: {}", std::strerror(errno))});
    std::vector<std::string> arguments{spec_.python, spec_.script, "--warm", spec_.imports};
    arguments.insert(arguments.end(), spec_.preload.begin(), spec_.preload.end());
    const auto pid = spawn({.program = spec_.python,
                            .arguments = std::move(arguments),
                            .environment = spec_.environment,
                            .descriptors = {nothing.get(), output.theirs.get(), output.theirs.get(),
                                            sockets.theirs.get(), program.get()}});
    if (!pid) return std::unexpected(WarmTrouble{WhyCold::not_started, std::strerror(pid.error())});
    auto process = std::make_shared<Process>(loop_, children_);
    process->pid = *pid;
    process->socket.assign(asio::generic::seq_packet_protocol(AF_UNIX, 0), sockets.ours.release());
    output_.attach(std::move(output.ours), LogStream::err);
    children_.watch(process->pid, [weak = weak_from_this(),
                                   which = std::weak_ptr(process)](const ExitStatus& exit) {
        const auto self = weak.lock();
        const auto ended = which.lock();
        if (self != nullptr && ended != nullptr) self->ended(ended, exit);
    });
    return process;
}

void WarmProcess::build_later() {
    if (++failures_ >= failures_max || is_closed_) return;
    timer_.expires_after(spec_.build_delay_min * (1U << (failures_ - 1)));
    timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
        const auto self = weak.lock();
        if (self != nullptr && !error && self->coming_ == nullptr) self->build();
    });
}

// ── what it says ─────────────────────────────────────────────────────────────────────────────────

void WarmProcess::listen(const ProcessPtr& process) {
    process->message.resize(message_max);
    process->socket.async_receive(
        asio::buffer(process->message), process->flags,
        [weak = weak_from_this(), which = std::weak_ptr(process)](boost::system::error_code error,
                                                                  std::size_t size) {
            const auto self = weak.lock();
            const auto speaker = which.lock();
            if (self == nullptr || speaker == nullptr || error || size == 0) return;
            self->hear(speaker, std::string_view(speaker->message).substr(0, size));
            if (speaker == self->ready_ || speaker == self->coming_) self->listen(speaker);
        });
}

/// Handles a message of the process: `{"importing": "torch"}`, `{"ready": 1834}` with the number of
/// modules, or `{"refused": why, "rebuild": bool}`.
void WarmProcess::hear(const ProcessPtr& process, std::string_view message) {
    boost::system::error_code error;
    const json::value value = json::parse(json::string_view(message.data(), message.size()), error);
    const json::object* said = error ? nullptr : value.if_object();
    const json::value* modules = said == nullptr ? nullptr : said->if_contains("ready");
    if (modules != nullptr && process == coming_) {
        ready_ = std::exchange(coming_, nullptr);
        failures_ = 0;
        trouble_.reset();
        return output_.remark(fmt::format("warm process {}: {} modules imported", process->pid,
                                          json::serialize(*modules)));
    }
    const json::value* name = said == nullptr ? nullptr : said->if_contains("importing");
    if (name != nullptr && name->is_string() && process == coming_) {
        process->importing = " " + std::string(name->get_string());
        return;
    }
    const json::value* why = said == nullptr ? nullptr : said->if_contains("refused");
    forget(process);
    if (why == nullptr || !why->is_string()) {
        say({.why = WhyCold::garbled});
        return build_later();
    }
    say({.why = WhyCold::refused, .details = std::string(why->get_string())});
    const json::value* again = said->if_contains("rebuild");
    if (again != nullptr && again->is_bool() && again->get_bool() && coming_ == nullptr) build();
}

void WarmProcess::forget(const ProcessPtr& process) {
    if (process == ready_) ready_ = nullptr;
    if (process == coming_) coming_ = nullptr;
}

void WarmProcess::ended(const ProcessPtr& process, const ExitStatus& exit) {
    if (process != ready_ && process != coming_) return;
    forget(process);
    say({.why = WhyCold::died, .details = words_for(exit)});
    if (coming_ == nullptr) build_later();
}

void WarmProcess::give_up() {
    if (ready_ == nullptr) return;
    ready_ = nullptr;
    say({.why = WhyCold::silent});
    if (coming_ == nullptr) build_later();
}

// ── a start ──────────────────────────────────────────────────────────────────────────────────────

std::expected<void, WarmTrouble> WarmProcess::fork(const GuardOrders& orders,
                                                   const std::string& model,
                                                   const std::vector<std::string>& environment,
                                                   Guarded::Offer offer) {
    if (ready_ == nullptr) return std::unexpected(WarmTrouble{.why = WhyCold::not_ready});
    json::array variables;
    for (const std::string& variable : environment) variables.emplace_back(variable);
    const std::string request = json::serialize(json::object{{"label", orders.label},
                                                             {"open_files", orders.open_files},
                                                             {"cgroup", orders.cgroup},
                                                             {"folder", orders.folder},
                                                             {"model", model},
                                                             {"environment", variables}});
    const int descriptors[] = {offer.out.get(), offer.err.get(), offer.control.get(),
                               offer.link.get()};
    if (send_descriptors(ready_->socket.native_handle(), request, descriptors) >= 0) return {};
    const int error = errno;
    if (error == EMSGSIZE) return std::unexpected(WarmTrouble{.why = WhyCold::too_large});
    return std::unexpected(WarmTrouble{WhyCold::not_asked, std::strerror(error)});
}

}  // namespace turnpike
