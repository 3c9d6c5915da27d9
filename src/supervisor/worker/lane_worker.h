// What the supervisor needs of a worker, whoever started it and whatever it speaks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "core/action.h"
#include "core/event.h"
#include "os/background.h"
#include "os/clock.h"
#include "stream/exchange.h"
#include "telemetry/lane_facts.h"

namespace turnpike {

using Deliver = std::function<void(const Event&)>;

/// What all workers share.
struct WorkerDeps {
    boost::asio::io_context& loop;
    const Store& store;
    Exchanges& exchanges;
    Background& background;  // disk, comparing proofs
    Clock& clock;
    std::vector<LaneFacts>& lanes;
    Deliver deliver;
};

class WorkerProcess;

class LaneWorker : public std::enable_shared_from_this<LaneWorker> {
public:
    LaneWorker() = default;
    virtual ~LaneWorker() = default;
    LaneWorker(const LaneWorker&) = delete;
    LaneWorker& operator=(const LaneWorker&) = delete;

    virtual void start() = 0;
    virtual void send(const SendJob& action) = 0;
    virtual void cancel(AttemptId attempt) = 0;
    virtual void probe(std::uint32_t number) = 0;
    virtual void prove(std::uint32_t number) = 0;
    /// Asks it to end. Later the engine hears WorkerExited, then WorkerGone.
    virtual void stop(Reason why) = 0;
    /// Ends it, and all that it started.
    virtual void kill(Reason why) = 0;

    /// Its process printed something.
    virtual void process_printed() {}
    /// Asks it what it is doing, for its lane's log and the record of this attempt (none: of no job).
    /// False: it can't tell.
    virtual bool ask_stacks(AttemptId) { return false; }
    /// nullptr: it is not ours.
    [[nodiscard]] virtual WorkerProcess* process() { return nullptr; }
};

}  // namespace turnpike
