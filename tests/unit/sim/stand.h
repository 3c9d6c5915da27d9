// A test stand: the real engine acts, the invariants watch, and the test tampers with what they see
// of the engine.
//
//   Stand stand({.lanes = 1});
//   stand.open();
//   const JobId job = stand.queue_job();
//   stand.tamper(stand.end_of(job, Verdict::answered), [](Turn& turn) { turn.drop<EndJob>(); });
//   EXPECT_EQ(stand.broken(), invariant::one_answer);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/time.h"
#include "core/action.h"
#include "core/engine.h"
#include "core/event.h"
#include "core/settings.h"
#include "core/view.h"
#include "core/words.h"
#include "sim/invariants.h"

namespace turnpike::sim {

/// What the invariants see of one turn.
struct Turn {
    Actions actions;
    View view;
    Instant next_deadline;

    template <class Kind>
    [[nodiscard]] Kind& the() {
        for (Action& action : actions)
            if (Kind* it = std::get_if<Kind>(&action)) return *it;
        CHECK(false);
    }
    template <class Kind>
    void drop() {
        const std::size_t before = actions.size();
        std::erase_if(actions,
                      [](const Action& action) { return std::holds_alternative<Kind>(action); });
        CHECK(actions.size() < before);
    }
    void add(const Action& action) { actions.push_back(action); }
};

class Stand {
public:
    using Tampering = std::function<void(Turn&)>;

    Stand() : Stand(PoolSettings{}) {}
    explicit Stand(const PoolSettings& pool) : Stand(Settings{.pools = {pool}}) {}
    explicit Stand(const Settings& settings)
        : settings_(settings), engine_(settings), invariants_(settings) {}

    void tell(const Event& event) {
        tamper(event, [](Turn&) {});
    }

    void tamper(const Event& event, const Tampering& change) {
        Turn turn;
        engine_.handle(event, now_, turn.actions);
        for (const Action& action : turn.actions) note(action);
        engine_.view(now_, turn.view);
        engine_.view_clients(now_, turn.view);
        turn.next_deadline = engine_.next_deadline();
        change(turn);
        invariants_.observe(event, now_, turn.actions, turn.view, turn.next_deadline);
    }

    /// Moves time to the engine's next deadline, and sends TimePassed.
    void wake() {
        tamper_at_deadline([](Turn&) {});
    }
    void tamper_at_deadline(const Tampering& change) {
        now_ = std::max(now_, engine_.next_deadline());
        tamper(TimePassed{}, change);
    }
    /// Sends TimePassed at every deadline of this time, and answers probes.
    void pass(Duration time) {
        for (const Instant until = now_ + time; engine_.next_deadline() <= until;) {
            wake();
            for (const ProbeWorker& probe : std::exchange(probes_, {}))
                tell(ProbeEnded{probe.worker, probe.probe, ProbeVerdict::answered});
        }
    }
    void later(Duration time) { now_ += time; }

    /// Opens the gate, and makes the worker of every lane ready.
    void open() {
        tell(GateOpened{});
        for (const WorkerId worker : std::vector(workers_)) comes_up(worker);
    }
    void comes_up(WorkerId worker, std::uint32_t group = 0) {
        tell(WorkerReady{worker});
        if (proofs_.contains(worker)) tell(proof_of(worker, group));
    }
    [[nodiscard]] ProofEnded proof_of(WorkerId worker, std::uint32_t group = 0) const {
        const bool agrees = settings_.pools.front().proof == ProofKind::agree;
        return {worker, proofs_.at(worker), agrees ? ProofVerdict::grouped : ProofVerdict::passed,
                group};
    }

    [[nodiscard]] JobArrived arrival() {
        JobArrived arrived;
        arrived.ticket = Ticket{++tickets_};
        arrived.pool = PoolId{0};
        arrived.declared = Bytes{10};
        return arrived;
    }
    JobId arrive(const JobArrived& arrived) {
        tell(arrived);
        return job_;
    }
    JobId queue_job(const JobArrived& arrived) {
        const JobId job = arrive(arrived);
        tell(BodyCompleted{job, arrived.declared});
        return job;
    }
    JobId queue_job() { return queue_job(arrival()); }

    [[nodiscard]] AttemptEnded end_of(JobId job, Verdict verdict = Verdict::answered) const {
        const SendJob& send = sends_.at(job);
        return {send.worker, send.attempt, verdict};
    }
    void dies(WorkerId worker) {
        tell(WorkerExited{worker});
        tell(WorkerGone{worker});
    }

    [[nodiscard]] const SendJob& sent(JobId job) const { return sends_.at(job); }
    [[nodiscard]] WorkerId worker(std::size_t lane) const {
        return engine_.view(now_).lanes.at(lane).current;
    }
    [[nodiscard]] const Engine& engine() const { return engine_; }
    [[nodiscard]] Instant now() const { return now_; }
    [[nodiscard]] Invariants& invariants() { return invariants_; }
    /// Returns a first attempt of this job on that lane, which the engine did not send.
    [[nodiscard]] SendJob send_of(JobId job, std::size_t lane) const {
        return {
            .worker = worker(lane), .lane = LaneId{lane}, .job = job, .attempt = AttemptId{12345}};
    }

    /// Returns the invariant that does not hold. Empty if all hold.
    [[nodiscard]] std::string broken() const {
        return invariants_.violation() ? invariants_.violation()->invariant : "";
    }

private:
    void note(const Action& action) {
        if (const auto* admit = std::get_if<AdmitJob>(&action)) job_ = admit->job;
        if (const auto* start = std::get_if<StartWorker>(&action))
            workers_.push_back(start->worker);
        if (const auto* send = std::get_if<SendJob>(&action)) sends_[send->job] = *send;
        if (const auto* prove = std::get_if<ProveWorker>(&action))
            proofs_[prove->worker] = prove->proof;
        if (const auto* probe = std::get_if<ProbeWorker>(&action)) probes_.push_back(*probe);
    }

    Settings settings_;
    Engine engine_;
    Invariants invariants_;
    Instant now_ = Instant{} + 1000s;
    std::uint64_t tickets_ = 0;
    JobId job_;
    std::vector<WorkerId> workers_;
    std::map<JobId, SendJob> sends_;
    std::map<WorkerId, std::uint32_t> proofs_;
    std::vector<ProbeWorker> probes_;
};

}  // namespace turnpike::sim
