// Everything that runs under `up`: engine, gate, supervisor and telemetry, wired together on one loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "config/config.h"
#include "gate/gate.h"
#include "gate/listener.h"
#include "gpu/driver.h"
#include "os/leftovers.h"
#include "os/limits.h"
#include "os/runtime_folder.h"
#include "serve/driver.h"
#include "serve/news.h"
#include "setup/checked_config.h"
#include "supervisor/supervisor.h"
#include "telemetry/crash_shelf.h"

namespace turnpike {

/// What a house stands on, found before anything starts.
struct Ground {
    CheckedConfig checked;
    std::optional<GpuDriver> driver;
    std::unique_ptr<LogSink> log;
    RuntimeFolder folder;
    OwnRun run;
    std::string sdk;   // the folder of the Python SDK; empty: nobody needs it
    std::string name;  // of the gate
    std::string version;
    std::string state;  // the folder of logs and crash reports; empty: there is none
    std::string keys;   // the file of API keys
    OpenFiles files;
};

class House {
public:
    explicit House(Ground ground);
    ~House();
    House(const House&) = delete;
    House& operator=(const House&) = delete;

    /// Nothing: it listens. Else why it can't.
    std::optional<std::string> open();
    /// Until it is told to stop.
    void serve();
    [[nodiscard]] const std::string& url() const { return news_.url(); }
    /// Some thread will not come back, and nothing can be done about it.
    [[nodiscard]] bool hangs() const {
        return background_.is_busy() || log_disk_.is_busy() || supervisor_->is_hanging();
    }

private:
    void carry_out(const Action& action);
    void watch_signals();
    void look_now_and_then();
    void keep_report(CrashReport report);
    [[nodiscard]] bool is_never_good(const CrashReport& report);
    [[nodiscard]] Gate::Surroundings gate_surroundings();
    [[nodiscard]] SupervisorDeps supervisor_deps();
    [[nodiscard]] Deliver deliver() {
        return [this](const Event& event) { driver_.deliver(event); };
    }

    const Ground ground_;
    const Config& config_ = ground_.checked.config;
    boost::asio::io_context loop_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};
    Clock clock_;
    KeyFile keys_;
    Listener listener_;
    std::vector<LaneFacts> lanes_;
    std::vector<PoolFacts> pools_;
    CrashShelf crashes_;
    Engine engine_;
    Driver driver_;
    News news_;
    Exchanges exchanges_;
    Background background_{loop_, "tp-disk"};
    Background log_disk_{loop_, "tp-lanes"};  // a folder of logs that hangs holds nobody else up
    const Store store_;
    std::optional<Gate> gate_;
    std::optional<Supervisor> supervisor_;
    boost::asio::signal_set signals_;
    boost::asio::steady_timer look_timer_;
    int signals_seen_ = 0;
    std::string crash_problem_;  // why the latest report is not on the disk; empty: it is
    Instant touched_at_{};
    Instant leave_by_ = never;
    bool is_leaving_ = false;
};

}  // namespace turnpike
