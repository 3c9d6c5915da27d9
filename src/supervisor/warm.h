// The warm process of a pool whose model is Python: it has imported what the model imports from elsewhere,
// and forks a worker for each start (docs/decisions/0005). A start that it can't serve is a cold one.
//
//   off ─learn()─▶ building ─it says ready─▶ ready ─it died, packages changed─▶ building
//    ▲                └──it can't fork, or dies again and again──┐
//    └───────────────────────────────────────────────────────────┘
//
// It is a child of the gate's own, without a guard: all that it makes belongs to others at once.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/generic/seq_packet_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/time.h"
#include "os/children.h"
#include "os/guarded.h"
#include "supervisor/lane_output.h"

namespace turnpike {

struct WarmSpec {
    std::string python;
    std::string script;                    // of the SDK, which becomes worker or warm process
    std::string imports;                   // the file in which workers leave what they imported
    std::vector<std::string> preload;      // this instead, if it is not empty
    std::vector<std::string> environment;  // of the pool's workers, without what is a lane's
};

class WarmProcess : public std::enable_shared_from_this<WarmProcess> {
public:
    WarmProcess(boost::asio::io_context& loop, Children& children, LaneOutput& output,
                WarmSpec spec);
    ~WarmProcess();

    /// A worker has loaded: what it imported is known now, or may have changed.
    void learn();
    [[nodiscard]] bool is_ready() const { return state_ == State::ready; }
    [[nodiscard]] pid_t pid() const { return pid_; }
    /// Why the latest start was none of its own, or why it is off; empty: nothing is known.
    [[nodiscard]] const std::string& trouble() const { return trouble_; }

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
    enum class State : std::uint8_t { off, building, ready };
    using Socket = boost::asio::generic::seq_packet_protocol::socket;

    void build();
    void build_later();
    void drop();
    void listen(std::uint64_t life);
    void hear(std::string_view message);
    void ended(std::uint64_t life, const ExitStatus& exit);

    boost::asio::io_context& loop_;
    Children& children_;
    LaneOutput& output_;
    const WarmSpec spec_;
    State state_ = State::off;
    Socket socket_;
    boost::asio::steady_timer timer_;
    boost::asio::socket_base::message_flags flags_ = 0;
    std::string message_;
    pid_t pid_ = 0;
    std::uint64_t life_ = 0;      // counts those that were built
    std::string built_of_;        // what the imports were then
    std::uint32_t failures_ = 0;  // in a row
    std::string trouble_;
    bool is_closed_ = false;
};

}  // namespace turnpike
