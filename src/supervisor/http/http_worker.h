// A worker that is an HTTP server: sends jobs, health checks and proofs to it. The derived classes
// start and end it.
//
//   coming ─health path answers─▶ up ─close()─▶ over
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/lifeline.h"
#include "config/config.h"
#include "proof/proof_result.h"
#include "proof/recorded_proof.h"
#include "supervisor/http/checked_dialer.h"
#include "supervisor/http/fetch.h"
#include "supervisor/http/http_attempt.h"
#include "supervisor/process/worker_process.h"
#include "supervisor/worker/first_job.h"
#include "supervisor/worker/lane_worker.h"

namespace turnpike {

class HttpWorker : public LaneWorker {
public:
    void send(const SendJob& action) final;
    void cancel(AttemptId id) final;
    void probe(std::uint32_t number) final;
    void prove(std::uint32_t number) final;
    [[nodiscard]] std::size_t exchanges_held() const final { return broken_or_aboard().size(); }

protected:
    struct Setup {
        const PoolConfig& pool;
        std::string host;                     // value of the Host field
        std::string prefix;                   // put before each target
        std::shared_ptr<CommonProof> common;  // of its generation; background thread only
        std::unique_ptr<CheckedDialer> dialer = nullptr;  // nullptr: whoever listens is the worker
    };
    enum class State : std::uint8_t { coming, up, over };

    HttpWorker(WorkerDeps& deps, const StartWorker& start, Setup setup);

    /// Sends one health check. If the worker answers, it is up; otherwise come_up() is called again
    /// soon.
    void poll_health();
    void poll_health_later();
    /// Takes the next step towards a worker that is up: looks whether it listens, or polls its health.
    virtual void come_up() = 0;
    /// Called when the worker is up, before the engine is told.
    virtual void came_up() {}
    virtual void first_job_took(Duration) {}
    /// Called when a link broke. Must call `report`, which tells the engine. A derived class that
    /// may soon learn the cause calls it later.
    virtual void link_broke(const std::function<void()>& report) { report(); }
    /// Called when a proof got no complete answer.
    virtual void proof_broke(std::uint32_t number) = 0;
    /// Closes the connections of all jobs aboard, but keeps the jobs. Must be called when the worker
    /// is killed: the engine may send its jobs elsewhere at once, and what it still says must not
    /// reach their clients.
    void hang_up();
    /// Stops all requests. Each job aboard gets the notice and is then forgotten.
    void close(const Trouble& end);

    /// Sets what went wrong with a request of our own. `request` is that request in words.
    void set_trouble_of(const Fetch::Result& result, const std::string& request);
    void set_trouble(LaneTrouble trouble) { facts().trouble = std::move(trouble); }
    [[nodiscard]] LaneFacts& lane_facts() { return deps_.lanes[lane_.value]; }
    [[nodiscard]] WorkerFacts& facts() { return lane_facts().of(worker_); }
    /// Returns the jobs that the worker may die of: those aboard, and those whose link broke
    /// since it last answered a probe. Its exit may come long after the broken link was reported.
    [[nodiscard]] std::vector<ExchangePtr> broken_or_aboard() const;

    WorkerDeps& deps_;
    const WorkerId worker_;
    const LaneId lane_;
    const Generation generation_;
    Setup setup_;
    State state_ = State::coming;
    Destination destination_;
    Lifeline lifeline_;

private:
    void health_polled(const Fetch::Result& result);
    void probed(const Fetch::Result& result);
    void write_probe_head(std::string& head) const;
    void proof_answered(std::uint32_t number, Fetch::Result result);
    void prove_again(std::uint32_t number);
    void end_proof(std::uint32_t number, LaneProof proof, const Judgement& judgement);
    [[nodiscard]] LaneProof proof_of(const Fetched& fetched) const;
    void attempt_broke(HttpAttempt& attempt);
    HttpAttempt& free_attempt();
    void attempt_ended(HttpAttempt& attempt);
    void watch_idle_links();
    void close_idle_links();
    void forget_broken();
    void forget_shortage();

    const LinkDeps link_deps_;
    Alarm poll_alarm_;
    Alarm proof_alarm_;
    Alarm idle_alarm_;
    bool is_idle_alarm_set_ = false;
    Fetch probe_;
    std::uint32_t probe_number_ = 0;
    Fetch proof_;
    Instant proof_began_{};
    FirstJob first_job_;
    HttpAttempt::Host host_;
    std::vector<std::unique_ptr<HttpAttempt>> attempts_;
    std::vector<HttpAttempt*> free_attempts_;
    std::vector<ExchangePtr> broken_;  // ended as `broken` since the worker last answered a probe
};

}  // namespace turnpike
