// `turnpike up`: wires engine, gate, supervisor and telemetry together, and runs them until told to
// stop.
#include <sys/random.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "app/check.h"
#include "app/checked_config.h"
#include "app/command.h"
#include "app/config_choice.h"
#include "app/detach.h"
#include "app/driver.h"
#include "app/environment.h"
#include "app/exit_code.h"
#include "app/news.h"
#include "app/print.h"
#include "app/terminal.h"
#include "gate/gate.h"
#include "gate/listener.h"
#include "os/limits.h"
#include "os/runtime_folder.h"
#include "supervisor/supervisor.h"

namespace turnpike {

namespace asio = boost::asio;

namespace {

constexpr Duration look_every = 250ms;  // at what clients do not do
constexpr int steps_per_turn = 64;      // before the clock is read again
constexpr Duration last_words = 200ms;  // after the second signal

std::uint64_t random_bits() {
    std::uint64_t bits = 0;
    while (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    }
    return bits;
}

std::vector<LaneFacts> facts_of(const Config& config) {
    std::vector<LaneFacts> facts;
    for (const PoolConfig& pool : config.pools)
        for (const WorkerUrl& url : pool.attach)
            facts.push_back({.worker = url.text, .trouble = {}});
    return facts;
}

/// Filled in place: g++ 12 takes a moved variant for uninitialised.
std::vector<LogTarget> log_targets(const LogConfig& config) {
    std::vector<LogTarget> targets;
    const std::string wipe(wants_live_lines() ? Terminal::wipe : "");
    if (!config.jobs.empty()) {
        LogTarget& target = targets.emplace_back();
        if (config.jobs == "-")
            target.where.emplace<LogDescriptor>(
                STDOUT_FILENO, "stdout", ::isatty(STDOUT_FILENO) != 0 ? wipe : std::string());
        else
            target.where.emplace<LogFile>(config.jobs, config.size_max, config.keep);
    }
    const bool has_lines_there = config.jobs == "-" && ::isatty(STDOUT_FILENO) != 0;
    if (::isatty(STDERR_FILENO) != 0 && !has_lines_there) {
        LogTarget& target = targets.emplace_back();
        target.where.emplace<LogDescriptor>(STDERR_FILENO, "the terminal", wipe);
        target.format = LogFormat::readable;
    }
    return targets;
}

/// Everything that runs. Members are made in the order in which they need each other.
class House {
public:
    House(Config config, std::unique_ptr<LogSink> log, RuntimeFolder folder, std::string keys_path)
        : config_(std::move(config)),
          log_(std::move(log)),
          folder_(std::move(folder)),
          keys_(std::move(keys_path), key_need(config_.gate)),
          listener_(loop_),
          lanes_(facts_of(config_)),
          engine_(engine_settings(config_, random_bits())),
          driver_(loop_, engine_, clock_),
          news_(config_, lanes_, clock_) {}

    /// Nothing: it listens. Else why it can't.
    std::optional<std::string> open();
    void serve();
    [[nodiscard]] const std::string& url() const { return news_.url(); }

private:
    void carry_out(const Action& action);
    void watch_signals();
    void look_now_and_then();
    [[nodiscard]] auto deliver() {
        return [this](const Event& event) { driver_.deliver(event); };
    }

    const Config config_;
    const std::unique_ptr<LogSink> log_;
    const RuntimeFolder folder_;
    asio::io_context loop_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};
    Clock clock_;
    KeyFile keys_;
    Listener listener_;
    std::vector<LaneFacts> lanes_;
    Engine engine_;
    Driver driver_;
    News news_;
    Exchanges exchanges_;
    Background background_{loop_, "tp-disk"};
    const Store store_{.disk = background_,
                       .folder = config_.gate.spool,
                       .answer_max = static_cast<std::size_t>(config_.gate.answer_buffer.count)};
    std::optional<Gate> gate_;
    std::optional<Supervisor> supervisor_;
    asio::signal_set signals_{loop_, SIGINT, SIGTERM};
    asio::steady_timer look_timer_{loop_};
    int signals_seen_ = 0;
    Instant leave_by_ = never;
    bool is_leaving_ = false;
};

std::optional<std::string> House::open() {
    if (auto objection = objection_to_listening(config_.gate, keys_)) return objection;
    const auto bound = listener_.bind(config_.gate.listen);
    if (!bound) return bound.error();
    if (const auto done = listener_.bind_unix(folder_.path_of("socket")); !done)
        return done.error();
    gate_.emplace(Gate::Surroundings{.loop = loop_,
                                     .config = config_,
                                     .engine = engine_,
                                     .exchanges = exchanges_,
                                     .store = store_,
                                     .clock = clock_,
                                     .keys = keys_,
                                     .log = *log_,
                                     .lanes = lanes_,
                                     .deliver = deliver(),
                                     .secret = random_bits()},
                  *bound);
    supervisor_.emplace(WorkerSurroundings{.loop = loop_,
                                           .store = store_,
                                           .exchanges = exchanges_,
                                           .background = background_,
                                           .clock = clock_,
                                           .deliver = deliver(),
                                           .note =
                                               [this](LaneId lane, std::string trouble) {
                                                   lanes_[lane.value].trouble = std::move(trouble);
                                               }},
                        config_);
    driver_.set_hands([this](const Action& action) { carry_out(action); });
    news_.opened(*bound, keys_.is_required());
    return std::nullopt;
}

void House::carry_out(const Action& action) {
    std::visit(
        [this]<class Kind>(const Kind& what) {
            if constexpr (requires { news_.tell(what); }) news_.tell(what);
            if constexpr (requires { gate_->note(what); }) gate_->note(what);
            if constexpr (requires { gate_->carry_out(what); })
                gate_->carry_out(what);
            else if constexpr (requires { supervisor_->carry_out(what); })
                supervisor_->carry_out(what);
            else if constexpr (std::is_same_v<Kind, Leave>)
                is_leaving_ = true;
        },
        action);
}

void House::watch_signals() {
    signals_.async_wait([this](boost::system::error_code error, int) {
        if (error) return;
        const bool is_first = ++signals_seen_ == 1;
        leave_by_ = later(clock_.now(), is_first ? config_.gate.shutdown_patience : last_words);
        listener_.stop_tcp();
        news_.stopping(is_first, config_.gate.shutdown_patience, engine_.view(clock_.now()));
        gate_->shut_down();
        driver_.deliver(
            ShutdownAsked{is_first ? config_.gate.shutdown_patience : Duration::zero()});
        watch_signals();
    });
}

void House::look_now_and_then() {
    look_timer_.expires_after(look_every);
    look_timer_.async_wait([this](boost::system::error_code error) {
        if (error) return;
        gate_->look();
        news_.look(log_->problem(), keys_.problem());
        look_now_and_then();
    });
}

void House::serve() {
    watch_signals();
    look_now_and_then();
    listener_.start(*gate_);
    driver_.deliver(GateOpened{});
    while (!is_leaving_) {
        clock_.forget();
        loop_.run_one();
        for (int i = 1; i < steps_per_turn && loop_.poll_one() > 0; ++i) {
        }
    }
    // Answers that are on their way still leave, as long as the patience lasts.
    while (gate_->connections() > 0 && clock_.now() < leave_by_) {
        clock_.forget();
        loop_.run_one_for(look_every);
        clock_.forget();
    }
    log_->flush();
    news_.stopped();
}

/// Connections beyond what the system allows would starve the workers' links of descriptors.
void fit_connections(GateConfig& gate, const OpenFiles& files) {
    constexpr std::uint64_t other_files = 1024;  // links, spool files, logs
    const std::uint64_t room =
        files.now > 2 * other_files ? files.now - other_files : files.now / 2;
    if (room >= gate.connections_max) return;
    advise(fmt::format(
        "turnpike: only {} open files are allowed (ulimit -n), so at most {} clients may be "
        "connected at once\n",
        files.now, room));
    gate.connections_max = static_cast<std::uint32_t>(room);
}

}  // namespace

int run(const UpCommand& command) {
    if (command.detach && !command.ready_fd) return detach(command);
    UniqueFd starter = way_to_starter(command);
    const auto path =
        choose_config({.said = command.config, .attaches = !command.flags.attach.empty()});
    if (!path) return complain(path.error(), exit_usage);
    auto config = checked_config(*path, command.flags);
    if (!config) {
        advise(mistakes_text(config.error()));
        return exit_usage;
    }
    auto folder = RuntimeFolder::take(runtime_place(), command.name);
    if (!folder) return complain(folder.error());
    auto log = LogSink::open({.targets = log_targets(config->log), .utc_offset = utc_offset()});
    if (!log) return complain(log.error());
    const auto keys = key_file();
    if (!keys) return complain(keys.error());
    std::signal(SIGPIPE, SIG_IGN);
    fit_connections(config->gate, raise_open_files());
    House house(*std::move(config), *std::move(log), *std::move(folder), *keys);
    if (const auto problem = house.open()) return complain(*problem);
    tell_starter(std::move(starter), house.url());
    house.serve();
    return exit_done;
}

}  // namespace turnpike
