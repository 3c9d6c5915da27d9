// The warm process of a pool whose model is Python: it has imported what the model imports from elsewhere,
// and forks a worker for each start (docs/decisions/0005). A start that it can't serve is a cold one.
//
//   none ─learn()─▶ coming ─it says ready─▶ ready ─imports changed─▶ ready, and another coming
//    ▲                └─it can't fork, or dies─┘ │
//    └────────────it died, packages changed──────┘
//
// While another comes, the one that is there goes on forking. One that imports without end is ended, and
// there is none until workers import something else. It is a child of the gate's own, without a guard:
// all that it makes belongs to others at once.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
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

namespace turnpike {

struct WarmSpec {
    std::string python;
    std::string script;                    // of the SDK, which becomes worker or warm process
    std::string imports;                   // the file in which workers leave what they imported
    std::vector<std::string> preload;      // this instead, if it is not empty
    std::vector<std::string> environment;  // of the pool's workers, without what is a lane's
    Duration build_delay_min = 1s;         // until it is built again; doubles with each failure
    Duration import_max = 30min;           // then it is ended
};

class WarmProcess : public std::enable_shared_from_this<WarmProcess> {
public:
    WarmProcess(boost::asio::io_context& loop, Children& children, LaneOutput& output,
                WarmSpec spec);
    ~WarmProcess();

    /// A worker has loaded: what it imported is known now, or may have changed.
    void learn();
    [[nodiscard]] bool is_ready() const { return ready_ != nullptr; }
    /// Of the one that is ready; 0: none is.
    [[nodiscard]] pid_t pid() const { return ready_ == nullptr ? 0 : ready_->pid; }
    /// Why the latest start was none of its own, or why it is off; empty: nothing is known.
    [[nodiscard]] const std::string& trouble() const { return trouble_; }
    /// For people, once: "its warm process still imports torch after 1min; …"; empty: nothing new.
    [[nodiscard]] std::string take_news() { return std::exchange(news_, {}); }

    /// A worker of this model, under a guard with these orders. What comes of it is heard through the
    /// offer's other ends. Else why not.
    [[nodiscard]] std::expected<void, std::string> fork(const GuardOrders& orders,
                                                        const std::string& model,
                                                        const std::vector<std::string>& environment,
                                                        Guarded::Offer offer);
    /// It did not answer in time: another is built.
    void give_up(const std::string& why);
    /// The gate leaves.
    void close();

private:
    using Socket = boost::asio::generic::seq_packet_protocol::socket;

    /// One process. It goes with its last owner, whatever it does.
    struct Life {
        Life(boost::asio::io_context& loop, Children& of)
            : children(of), socket(loop), patience(loop) {}
        ~Life();

        Children& children;
        Socket socket;
        boost::asio::socket_base::message_flags flags = 0;
        std::string message;
        pid_t pid = 0;
        std::string importing;               // the latest that it named
        boost::asio::steady_timer patience;  // with its imports
    };
    using LifePtr = std::shared_ptr<Life>;

    void build();
    void build_later();
    void after(Duration time, const LifePtr& life, void (WarmProcess::*then)(const LifePtr&));
    void report_slow_import(const LifePtr& life);
    void end_stuck_import(const LifePtr& life);
    [[nodiscard]] Duration usual_max() const;
    [[nodiscard]] std::expected<LifePtr, std::string> make();
    void listen(const LifePtr& life);
    void hear(const LifePtr& life, std::string_view message);
    void ended(const LifePtr& life, const ExitStatus& exit);
    void forget(const LifePtr& life);
    void say(const std::string& trouble);

    boost::asio::io_context& loop_;
    Children& children_;
    LaneOutput& output_;
    const WarmSpec spec_;
    LifePtr ready_;
    LifePtr coming_;
    boost::asio::steady_timer timer_;
    std::string built_of_;        // what the imports were then
    std::uint32_t failures_ = 0;  // in a row
    std::string trouble_;
    std::string news_;
    bool is_closed_ = false;
};

}  // namespace turnpike
