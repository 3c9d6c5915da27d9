// A worker that somebody else started: an HTTP server at a URL. It can't be started or killed, only
// watched: it is up when its health path answers, and gone when we let go of it.
//
//   waiting ─health path answers─▶ up ─end()─▶ over
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "config/config.h"
#include "core/action.h"
#include "supervisor/fetch.h"
#include "supervisor/proof_check.h"
#include "supervisor/ride.h"

namespace turnpike {

/// What all workers share.
struct WorkerSurroundings {
    boost::asio::io_context& loop;
    const Store& store;
    Exchanges& exchanges;
    Background& background;
    Clock& clock;
    Deliver deliver;
    std::function<void(LaneId, std::string)> note;  // what people should know of a lane's worker
};

class AttachedWorker : public std::enable_shared_from_this<AttachedWorker> {
public:
    AttachedWorker(WorkerSurroundings& surroundings, const StartWorker& start,
                   const PoolConfig& pool, const WorkerUrl& url,
                   std::shared_ptr<AnswerGroups> groups);

    void start();
    void send(const SendJob& action);
    void cancel(AttemptId attempt);
    void probe(std::uint32_t number);
    void prove(std::uint32_t number);
    /// Closes everything. The engine hears that it is gone.
    void end();

private:
    enum class State : std::uint8_t { waiting, up, over };

    void resolve();
    void knock();
    void knocked(const Fetch::Result& result);
    void knock_later();
    void probed(const Fetch::Result& result);
    void write_probe_head(std::string& head) const;
    void proof_answered(std::uint32_t number, Fetch::Result result);
    void vanish();
    Ride& free_ride();
    void ride_ended(Ride& ride);
    void watch_idle_links();
    void close_idle_links();

    WorkerSurroundings& around_;
    const WorkerId worker_;
    const LaneId lane_;
    const Generation generation_;
    const PoolConfig& pool_;
    const WorkerUrl& url_;
    const std::shared_ptr<AnswerGroups> groups_;  // touched on the background thread only
    State state_ = State::waiting;

    Destination destination_;
    boost::asio::ip::tcp::resolver resolver_;
    boost::asio::steady_timer knock_timer_;
    boost::asio::steady_timer idle_timer_;
    bool idle_timer_runs_ = false;
    std::shared_ptr<Fetch> probe_;
    std::uint32_t probe_number_ = 0;
    std::shared_ptr<Fetch> proof_;
    Ride::Host host_;
    std::vector<std::unique_ptr<Ride>> rides_;
    std::vector<Ride*> free_rides_;
};

}  // namespace turnpike
