// The warm process of a pool with a Python model. It has imported the packages that the model
// imports, and forks a worker for each start (docs/decisions/0005). If it can't fork, the worker is
// started cold.
//
//   none ─learn()─▶ coming ─it says ready─▶ ready ─imports changed─▶ ready, and another coming
//    ▲                 │                      │
//    └─────────────────┴──────────────────────┘ it died, or it can't fork
//
// While a new one comes up, the old one goes on forking. If it died, or packages changed, another
// one is built. A process that imports for too long is ended, and no other is built until workers
// import something else. The warm process is a child of the gate and has no guard, because every
// worker that it forks gets a guard of its own at once.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/generic/seq_packet_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/time.h"
#include "os/children.h"
#include "os/guarded.h"
#include "supervisor/process/lane_output.h"
#include "supervisor/process/warm_trouble.h"

namespace turnpike {

struct WarmSpec {
    std::string python;
    std::string script;                    // the SDK's, for workers and the warm process
    std::string imports;                   // the file in which workers write what they imported
    std::vector<std::string> preload;      // if not empty, imported instead of those
    std::vector<std::string> environment;  // of the pool's workers, without the variables of a lane
    Duration build_delay_min = 1s;         // before it is built again; doubles with each failure
    Duration import_max = 30min;           // an import that takes longer is ended
};

class WarmProcess : public std::enable_shared_from_this<WarmProcess> {
public:
    WarmProcess(boost::asio::io_context& loop, Children& children, LaneOutput& output,
                WarmSpec spec);
    ~WarmProcess();

    /// Must be called when a worker has loaded, because its imports are known now or may have
    /// changed.
    void learn();
    [[nodiscard]] bool is_ready() const { return ready_ != nullptr; }
    /// Returns the pid of the process that is ready, or 0 if none is.
    [[nodiscard]] pid_t pid() const { return ready_ == nullptr ? 0 : ready_->pid; }
    /// Returns why the latest start was cold, or why there is no warm process. Nullopt if nothing
    /// is wrong.
    [[nodiscard]] const std::optional<WarmTrouble>& trouble() const { return trouble_; }
    /// Returns a message for people: "its warm process still imports torch after 1min; …". Returns
    /// each message only once. Empty if there is nothing new.
    [[nodiscard]] std::string take_news() { return std::exchange(news_, {}); }

    /// Asks the warm process for a worker of this model, under a guard with these orders. They get
    /// the descriptors of `offer`. Returns an error if the process can't be asked.
    [[nodiscard]] std::expected<void, WarmTrouble> fork(const GuardOrders& orders,
                                                        const std::string& model,
                                                        const std::vector<std::string>& environment,
                                                        Guarded::Offer offer);
    /// Must be called when the process did not answer in time. Ends it and builds another one.
    void give_up();
    /// Must be called when the gate ends.
    void close();

private:
    using Socket = boost::asio::generic::seq_packet_protocol::socket;

    /// Killed when its last owner drops it.
    struct Process {
        Process(boost::asio::io_context& loop, Children& of)
            : children(of), socket(loop), patience(loop) {}
        ~Process();

        Children& children;
        Socket socket;
        boost::asio::socket_base::message_flags flags = 0;
        std::string message;
        pid_t pid = 0;
        std::string importing;               // the module that it named last
        boost::asio::steady_timer patience;  // limits how long it imports
    };
    using ProcessPtr = std::shared_ptr<Process>;

    void build();
    void build_later();
    void after(Duration time, const ProcessPtr& process,
               void (WarmProcess::*then)(const ProcessPtr&));
    void report_slow_import(const ProcessPtr& process);
    void end_stuck_import(const ProcessPtr& process);
    [[nodiscard]] Duration usual_max() const;
    [[nodiscard]] std::expected<ProcessPtr, WarmTrouble> make();
    void listen(const ProcessPtr& process);
    void hear(const ProcessPtr& process, std::string_view message);
    void ended(const ProcessPtr& process, const ExitStatus& exit);
    void forget(const ProcessPtr& process);
    void say(WarmTrouble trouble);

    boost::asio::io_context& loop_;
    Children& children_;
    LaneOutput& output_;
    const WarmSpec spec_;
    ProcessPtr ready_;
    ProcessPtr coming_;
    boost::asio::steady_timer timer_;
    std::string built_of_;        // the imports for which it was built last
    std::uint32_t failures_ = 0;  // in a row
    std::optional<WarmTrouble> trouble_;
    std::string news_;
    bool is_closed_ = false;
};

}  // namespace turnpike
