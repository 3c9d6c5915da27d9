// A gate in steady state: every lane serves, a number of jobs wait, and for each job that arrives
// the job that has run longest is answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/engine.h"

namespace turnpike {

class SteadyGate {
public:
    SteadyGate(const PoolSettings& pool, std::uint32_t waiting)
        : engine_(Settings{.pools = {pool}}) {
        tell(GateOpened{});
        const Actions starts = actions_;
        for (const Action& action : starts)
            if (const auto* start = std::get_if<StartWorker>(&action))
                tell(WorkerReady{start->worker});
        const std::uint32_t running = waiting > 0 ? pool.lanes * pool.slots : 0;
        for (std::uint32_t i = 0; i < running + waiting; ++i) arrive();
    }

    void one_job() {
        arrive();
        answer();
    }

private:
    void arrive() {
        tell(JobArrived{.ticket = Ticket{1},
                        .pool = PoolId{0},
                        .declared = Bytes{1000},
                        .priority = {},
                        .timeout = 10h,
                        .lane_wanted = {},
                        .is_aside = false});
        tell(BodyCompleted{std::get<AdmitJob>(actions_.front()).job, Bytes{1000}});
        note_sent();
    }

    void answer() {
        const SendJob sent = running_[oldest_];
        tell(AttemptEnded{sent.worker, sent.attempt, Verdict::answered});
        running_[oldest_] = running_.back();
        running_.pop_back();
        if (++oldest_ >= running_.size()) oldest_ = 0;
        note_sent();
    }

    void tell(const Event& event) {
        actions_.clear();
        now_ += 1us;
        engine_.handle(event, now_, actions_);
    }

    void note_sent() {
        for (const Action& action : actions_)
            if (const auto* sent = std::get_if<SendJob>(&action)) running_.push_back(*sent);
    }

    Engine engine_;
    Actions actions_;
    Instant now_{};
    std::vector<SendJob> running_;
    std::size_t oldest_ = 0;  // index in running_, roughly of the oldest job
};

}  // namespace turnpike
