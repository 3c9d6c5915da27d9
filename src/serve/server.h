// Everything that runs under `up`: engine, gate, supervisor and telemetry on one loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/wakeups.h"
#include "config/config.h"
#include "gate/gate.h"
#include "gate/listener.h"
#include "gpu/driver.h"
#include "os/alarm.h"
#include "os/leftovers.h"
#include "os/limits.h"
#include "os/runtime_folder.h"
#include "os/socket_transport.h"
#include "serve/driver.h"
#include "serve/runtime_files.h"
#include "serve/terminal_reporter.h"
#include "setup/checked_config.h"
#include "supervisor/supervisor.h"
#include "telemetry/recent_crashes.h"

namespace turnpike {

/// What `up` has found and opened before anything starts.
struct UpInputs {
    CheckedConfig checked;
    std::optional<GpuDriver> driver;
    std::unique_ptr<LogSink> log;
    RuntimeFolder folder;
    OwnRun run;              // marks the processes that this gate starts
    std::string sdk_folder;  // of the Python SDK; empty if no pool needs it
    std::string name;        // of the gate
    std::string version;
    std::string state_folder;  // for logs and crash reports; empty if none are kept
    std::string key_file;      // the API keys
    OpenFiles files;
};

class Server {
public:
    explicit Server(UpInputs inputs);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Opens the listeners. Returns an error message, or nullopt once the gate is listening.
    std::optional<std::string> open();
    /// Runs the loop until a signal has asked the server to stop and everything has ended.
    void serve();
    [[nodiscard]] const std::string& url() const { return reporter_.url(); }
    /// True if a background thread is still busy, such as in a driver call that never returns.
    [[nodiscard]] bool has_busy_threads() const {
        return background_.is_busy() || log_disk_.is_busy() || supervisor_->is_hanging();
    }

private:
    void watch_signals();
    void run_for(Duration time);
    void check_periodically();
    void look_after_files();
    void store_crash_report(CrashReport report);
    [[nodiscard]] bool is_from_unserved_generation(const CrashReport& report);
    [[nodiscard]] GateDeps gate_deps();
    [[nodiscard]] SupervisorDeps supervisor_deps();
    [[nodiscard]] Deliver deliver() {
        return [this](const Event& event) { driver_.deliver(event); };
    }

    UpInputs inputs_;
    const Config& config_ = inputs_.checked.config;
    boost::asio::io_context loop_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};
    LoopAlarms alarms_{loop_};
    SocketDialer dialer_{loop_};
    Clock clock_;
    KeyFile keys_;
    Listener listener_;
    RuntimeFiles files_;
    std::vector<LaneFacts> lanes_;
    std::vector<PoolFacts> pools_;
    RecentCrashes crashes_;
    Engine engine_;
    Wakeups wakeups_;
    Driver driver_;
    TerminalReporter reporter_;
    Exchanges exchanges_{wakeups_, config_.gate.answers_max};
    Background background_{loop_, "tp-disk"};
    // A thread of its own, so that a hanging log folder delays nothing else.
    Background log_disk_{loop_, "tp-lanes"};
    Background digests_{loop_, "tp-digest"};
    const Store store_;
    std::optional<Gate> gate_;
    std::optional<Supervisor> supervisor_;
    boost::asio::signal_set signals_;
    boost::asio::steady_timer look_timer_;
    int signals_seen_ = 0;
    std::string crash_problem_;  // why the latest crash report was not stored; empty if it was
    Instant
        touched_at_{};  // when the runtime folder was last touched, so that no cleaner removes it
    Instant files_looked_at_{};
    Instant leave_by_ = never;
    bool is_leaving_ = false;
};

}  // namespace turnpike
