// A worker as the supervisor sees it. The interface is the same for HTTP and native workers,
// whether or not we started them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "core/action.h"
#include "core/event.h"
#include "os/alarm.h"
#include "os/background.h"
#include "os/clock.h"
#include "os/socket_transport.h"
#include "stream/exchange.h"
#include "telemetry/lane_facts.h"

namespace turnpike {

using Deliver = std::function<void(const Event&)>;

/// What all workers share, attached ones too.
struct WorkerDeps {
    boost::asio::io_context& loop;
    Wakeups& wakeups;
    Alarms& alarms;
    Dialer& dialer;
    const Store& store;
    Exchanges& exchanges;
    Background& background;  // for slow work: disk access, comparing proofs
    Clock& clock;
    std::vector<LaneFacts>& lanes;
    Deliver deliver;
};

/// Ends an attempt that came after its worker's end. The engine hears of that end later in this
/// turn, and then decides what becomes of the job.
inline void refuse_after_end(Exchanges& exchanges, ExchangePtr&& exchange) {
    exchange->attempt.trouble.cause = Cause::worker_died;
    exchanges.drop(std::move(exchange));
}

class WorkerProcess;

class LaneWorker {
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
    /// Asks the worker to end. The engine gets WorkerExited and then WorkerGone later.
    virtual void stop(Reason why) = 0;
    /// Kills the worker and every process that it started.
    virtual void kill(Reason why) = 0;

    /// True once the engine was told that the worker is gone.
    [[nodiscard]] virtual bool is_gone() const = 0;
    /// Returns how many exchanges the worker holds.
    [[nodiscard]] virtual std::size_t exchanges_held() const = 0;

    /// Called when the worker's process printed something.
    virtual void process_printed() {}
    /// Asks the worker for its stacks. They go to the lane's log and to the record of this
    /// attempt's job (the id is empty if they are for no job). Returns false if the worker can't be
    /// asked.
    virtual bool ask_stacks(AttemptId) { return false; }
    /// Returns the worker's process, or nullptr if Turnpike did not start the worker.
    [[nodiscard]] virtual WorkerProcess* process() { return nullptr; }
};

}  // namespace turnpike
