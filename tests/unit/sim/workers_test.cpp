// What workers do with jobs that are cancelled, block, kill or go stale.
#include "sim/workers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "sim/plan.h"

namespace turnpike::sim {
namespace {

constexpr WorkerId worker{0};

Plan plan_with(std::uint32_t native, bool may_retry = true) {
    Plan plan{.native = native};
    plan.settings.pools = {PoolSettings{.lanes = 1, .slots = 4, .may_retry = may_retry}};
    plan.calm_at = 10min;
    return plan;
}

/// One worker that is up. The test plays the engine.
class Machine {
public:
    explicit Machine(Plan plan) : plan_(std::move(plan)) {
        workers_.carry_out(StartWorker{.worker = worker, .lane = LaneId{0}});
        run(30s);
        events_.clear();
    }

    void send(std::uint64_t job, JobScript script) {
        script.pool = script.routed_to = PoolId{0};
        scripts_.push_back(script);
        clients_.arrive(job, scripts_.back());
        workers_.carry_out(SendJob{
            .worker = worker, .lane = LaneId{0}, .job = JobId{job}, .attempt = AttemptId{job}});
    }
    void cancel(std::uint64_t job) {
        workers_.carry_out(CancelAttempt{.worker = worker, .attempt = AttemptId{job}});
    }
    void probe(std::uint32_t number) {
        workers_.carry_out(ProbeWorker{.worker = worker, .probe = number});
    }

    void run(Duration time) {
        const Instant until = stage_.now() + time;
        while (stage_.step(never, until)) {
        }
    }

    /// Returns what the worker told since it was ready: how attempts ended, answered probes, exits.
    [[nodiscard]] const std::vector<std::string>& events() const { return events_; }
    [[nodiscard]] bool is_blocked() const { return workers_.has_blocked_worker(); }

private:
    void take(const Event& event) {
        if (const auto* job = std::get_if<JobArrived>(&event))
            clients_.carry_out(AdmitJob{.ticket = job->ticket, .job = JobId{job->ticket.value}});
        if (const auto* ended = std::get_if<AttemptEnded>(&event))
            events_.push_back(std::to_string(ended->attempt.value) + " " +
                              std::string(name_of(ended->verdict)));
        if (const auto* probed = std::get_if<ProbeEnded>(&event))
            if (probed->verdict == ProbeVerdict::answered) events_.emplace_back("probe");
        if (std::holds_alternative<WorkerExited>(event)) events_.emplace_back("exit");
    }

    Plan plan_;
    Stage stage_{plan_, [this](const Event& event) { take(event); }};
    Clients clients_{stage_};
    Workers workers_{stage_, clients_};
    std::deque<JobScript> scripts_;
    std::vector<std::string> events_;
};

using Told = std::vector<std::string>;

constexpr std::uint32_t native = 100;
constexpr std::uint32_t http = 0;

TEST(Workers, OfHttpPoolsCloseACancelledExchangeAtOnce) {
    Machine machine(plan_with(http));
    machine.send(1, {.run = 5s, .ignores_cancel = true});
    machine.cancel(1);
    machine.run(0s);
    EXPECT_EQ(machine.events(), Told{"1 closed"});
    machine.run(1min);
    EXPECT_EQ(machine.events(), Told{"1 closed"}) << "nobody learns of the rest";
}

TEST(Workers, OfNativePoolsSayThemselvesThatACancelledJobHasEnded) {
    Machine machine(plan_with(native));
    machine.send(1, {.run = 5s});
    machine.cancel(1);
    machine.run(2s);
    EXPECT_EQ(machine.events(), Told{"1 cancelled"});
}

TEST(Workers, OfNativePoolsAnswerACancelledJobIfTheyIgnoreTheCancel) {
    Machine machine(plan_with(native));
    machine.send(1, {.run = 5s, .ignores_cancel = true});
    machine.cancel(1);
    machine.run(1min);
    EXPECT_EQ(machine.events(), Told{"1 answered"});
}

TEST(Workers, AnswerNoProbeWhileABlockingJobRunsEvenAfterItsExchangeWasClosed) {
    Machine machine(plan_with(http));
    machine.send(1, {.run = 5min, .blocks = true});
    machine.cancel(1);
    for (std::uint32_t number = 1; number <= 8; ++number) machine.probe(number);
    machine.run(4min);
    EXPECT_EQ(machine.events(), Told{"1 closed"});
    EXPECT_TRUE(machine.is_blocked());
    machine.run(2min);
    EXPECT_FALSE(machine.is_blocked());
    EXPECT_GT(machine.events().size(), 1U) << "some probes were waiting";
}

TEST(Workers, AnswerNothingAnyMoreWhileABlockingJobHangs) {
    Machine machine(plan_with(http));
    machine.send(1, {.ending = Ending::hangs, .blocks = true});
    machine.cancel(1);
    for (std::uint32_t number = 1; number <= 8; ++number) machine.probe(number);
    machine.send(2, {});
    machine.run(9min);
    EXPECT_EQ(machine.events(), Told{"1 closed"});
}

TEST(Workers, GoOnWithTheirOtherJobsWhenABlockingJobHasEnded) {
    Machine machine(plan_with(http));
    machine.send(1, {.run = 10s, .blocks = true});
    machine.send(2, {.run = 1s});
    machine.send(3, {.run = 2s, .blocks = true});
    machine.run(1min);
    ASSERT_EQ(machine.events().size(), 3U);
    EXPECT_EQ(machine.events().front(), "1 answered");
    EXPECT_FALSE(machine.is_blocked());
}

TEST(Workers, BreakTheLinkBeforeTheyExitWhenTheyDumpTheirCore) {
    Machine machine(plan_with(http));
    machine.send(1, {.run = 0s, .ending = Ending::dumps_core});
    machine.run(200ms);
    EXPECT_EQ(machine.events(), Told{"1 broken"});
    machine.probe(1);
    machine.send(2, {.run = 0s});
    machine.run(20s);
    EXPECT_EQ(machine.events(), (Told{"1 broken", "exit"}));
}

TEST(Workers, DieUnderAJobWhoseExchangeWasClosed) {
    Machine machine(plan_with(http));
    machine.send(1, {.run = 10s, .ending = Ending::kills_worker, .ignores_cancel = true});
    machine.cancel(1);
    machine.run(1min);
    EXPECT_EQ(machine.events(), (Told{"1 closed", "exit"}));
}

TEST(Workers, LoseAJobOnAStaleConnectionOnlyIfTheySpeakHttp) {
    const JobScript script{.ending = Ending::goes_stale, .stream_parts = 2};
    Machine over_http(plan_with(http));
    over_http.send(1, script);
    over_http.run(1min);
    EXPECT_EQ(over_http.events(), Told{"1 stale"});
    Machine over_frames(plan_with(native));
    over_frames.send(1, script);
    over_frames.run(1min);
    EXPECT_EQ(over_frames.events(), Told{"1 answered"});
}

TEST(Workers, RarelyLoseJobsOnStaleConnectionsWithoutRetries) {
    Machine machine(plan_with(http, false));
    for (std::uint64_t job = 1; job <= 100; ++job)
        machine.send(job, {.ending = Ending::goes_stale});
    machine.run(1min);
    std::size_t stale = 0;
    for (const std::string& event : machine.events()) stale += event.ends_with("stale") ? 1U : 0U;
    EXPECT_EQ(machine.events().size(), 100U);
    EXPECT_LT(stale, 30U);
}

TEST(Workers, DieUnderEachJobOnALaneThatKillsAll) {
    Plan plan = plan_with(http);
    plan.stimuli.push_back(
        {.payload = Curse{.lane = LaneId{0}, .kind = CurseKind::kills_all, .lasts = 5min}});
    Machine machine(std::move(plan));
    machine.send(1, {});
    machine.run(1min);
    ASSERT_FALSE(machine.events().empty());
    EXPECT_EQ(machine.events().back(), "exit");
}

}  // namespace
}  // namespace turnpike::sim
