// The phases of a run, and the path of every event: engine, trace, invariants, and then the actions
// to the clients and workers that carry them out.
#include "sim/world.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/engine.h"
#include "sim/clients.h"
#include "sim/stage.h"
#include "sim/workers.h"

namespace turnpike::sim {

namespace {

constexpr std::uint64_t events_max = 400'000;         // in a run
constexpr std::uint64_t events_at_once_max = 20'000;  // in one instant
constexpr std::uint64_t view_every = 8;         // events between two looks at the lanes' states
constexpr std::uint64_t fresh_key = 1'000'000;  // of the first client after the lanes were healed
constexpr Duration patience_slack = 100ms;      // shutdown may end this much after its patience

class World {
public:
    World(const Plan& plan, Tracing tracing)
        : plan_(plan),
          engine_(plan.settings),
          invariants_(plan.settings),
          trace_(tracing),
          stage_(plan, [this](const Event& event) { handle(event); }),
          clients_(stage_),
          workers_(stage_, clients_) {}

    RunResult run() {
        stage_.tell(GateOpened{});
        for (const Stimulus& stimulus : plan_.stimuli)
            stage_.after(stimulus.at, stimulus.id, [this, &stimulus] { apply(stimulus); });
        run_until(stage_.calm_at());
        note("the faults are over");
        if (plan_.has_shutdown())
            run_shutdown_phase();
        else
            run_calm_phase();
        return {.hash = trace_.hash(),
                .events = events_,
                .violation = violation(),
                .coverage = coverage_,
                .trace = trace_.text()};
    }

private:
    [[nodiscard]] std::optional<Violation> violation() const {
        return invariants_.violation() ? invariants_.violation() : stage_.complaint();
    }
    [[nodiscard]] bool is_over() const { return invariants_.violation() || stage_.complaint(); }

    void note(const std::string& text) {
        if (!is_over()) trace_.note(stage_.now() - stage_.opened(), text);
    }

    // ── the path of an event ─────────────────────────────────────────────────────────────────────

    void handle(const Event& event) {
        if (is_over()) return;
        const Instant now = stage_.now();
        Actions actions = std::move(spare_);
        actions.clear();
        engine_.handle(event, now, actions);
        ++events_;
        trace_.add(now - stage_.opened(), event, actions);
        coverage_.add(event, actions);
        invariants_.observe(event, now, actions, engine_);
        check_progress(event, now);
        if (events_ % view_every == 0) engine_.view(now, view_), coverage_.add(view_);
        for (const Action& action : actions)
            std::visit([this](const auto& it) { carry_out(it); }, action);
        spare_ = std::move(actions);
    }

    void check_progress(const Event& event, Instant now) {
        events_now_ = now == last_ ? events_now_ + 1 : 0;
        last_ = now;
        if (events_now_ > events_at_once_max)
            stage_.complain("time moves on", "too many events at one instant");
        if (events_ > events_max) stage_.complain("time moves on", "too many events in one run");
        if (std::holds_alternative<TimePassed>(event) && engine_.next_deadline() <= now)
            stage_.complain("time moves on",
                            "after TimePassed the next deadline has already passed");
    }

    void carry_out(const auto& action) {
        check_after_leave(action);
        if constexpr (requires { clients_.carry_out(action); }) clients_.carry_out(action);
        if constexpr (requires { workers_.carry_out(action); }) workers_.carry_out(action);
        if constexpr (requires { judge(action); }) judge(action);
    }

    // ── what only the world knows ────────────────────────────────────────────────────────────────

    /// After Leave the engine may only refuse arrivals and report lanes.
    template <class Kind>
    void check_after_leave(const Kind&) {
        if (leaves_ > 0 && !std::is_same_v<Kind, RefuseJob> && !std::is_same_v<Kind, ReportLane>)
            stage_.complain("shutdown completes", fmt::format("{} after Leave", Kind::name));
        if (std::is_same_v<Kind, Leave>) ++leaves_;
    }

    void judge(const EndJob& action) {
        const bool is_fresh =
            clients_.find(action.job) != nullptr && clients_.find(action.job)->key >= fresh_key;
        if (action.reason == EndReason::answered) return;
        if (is_fresh)
            stage_.complain("a healed world answers", fmt::format("{}", name_of(action.reason)));
        if (plan_.is_calm && action.reason != EndReason::bad_input)
            stage_.complain("a calm world answers", fmt::format("{}", name_of(action.reason)));
    }

    void judge(const RefuseJob& action) {
        if (action.ticket.value >= fresh_key)
            stage_.complain("a healed world answers",
                            fmt::format("refused: {}", name_of(action.reason)));
        if (plan_.is_calm)
            stage_.complain("a calm world answers",
                            fmt::format("refused: {}", name_of(action.reason)));
    }

    void judge(const StopWorker&) { judge_end(); }
    void judge(const KillWorker&) { judge_end(); }
    void judge_end() {
        if (plan_.is_calm) stage_.complain("a calm world answers", "a worker is ended");
    }

    // ── stimuli ──────────────────────────────────────────────────────────────────────────────────

    void apply(const Stimulus& stimulus) {
        if (is_over() || leaves_ > 0) return;
        if (trace_.is_on()) note(describe(stimulus));
        std::visit([&](const auto& payload) { apply(stimulus.id, payload); }, stimulus.payload);
    }
    void apply(std::uint32_t id, const JobScript& script) { clients_.arrive(id, script); }
    void apply(std::uint32_t, const Curse& curse) { workers_.begin(curse); }
    void apply(std::uint32_t, const Blow& blow) { workers_.strike(blow); }
    void apply(std::uint32_t, const ShellFault&) {}  // Stage applies it
    void apply(std::uint32_t id, const Reload& reload) {
        stage_.tell(
            ReloadAsked{.pool = reload.pool, .generation = generation_of(id), .kind = reload.kind});
    }
    void apply(std::uint32_t, const Shutdown& shutdown) {
        jobs_end_at_ = std::min(jobs_end_at_, stage_.now() + shutdown.patience);
        stage_.tell(ShutdownAsked{shutdown.patience});
    }
    void apply(std::uint32_t, const Order& order) {
        switch (order.kind) {
            case OrderKind::drain: return stage_.tell(DrainAsked{order.lane});
            case OrderKind::resume: return stage_.tell(ResumeAsked{order.lane});
            case OrderKind::restart: return stage_.tell(RestartAsked{order.lane});
            case OrderKind::restart_twice:
                stage_.tell(RestartAsked{order.lane});
                return stage_.tell(RestartAsked{order.lane});
            case OrderKind::prove: return stage_.tell(ProveAsked{plan_.pool_of(order.lane)});
        }
    }

    // ── phases ───────────────────────────────────────────────────────────────────────────────────

    void run_until(Instant until) {
        while (!is_over() && stage_.step(engine_.next_deadline(), until)) check_shutdown();
    }

    /// Stops as soon as the world is at rest, or at the limit. A later check then reports what is
    /// not at rest.
    void run_until_settled() {
        const Instant limit = stage_.now() + plan_.patience();
        while (!is_over() && !is_settled() && stage_.step(engine_.next_deadline(), limit)) {
        }
    }

    [[nodiscard]] bool is_settled() {
        engine_.view(stage_.now(), view_);
        const auto lane_rests = [&](const LaneView& lane) {
            if (lane.state == LaneState::quarantined) return true;
            // A failed lane tries again, so it does not rest.
            const bool has_given_up = lane.state == LaneState::failed && view_.is_shutting_down;
            return lane.other.is_none() && (lane.state == LaneState::ready ||
                                            lane.state == LaneState::drained || has_given_up);
        };
        const auto pool_rests = [](const PoolView& pool) { return pool.reloading.is_none(); };
        return view_.jobs == 0 && std::ranges::all_of(view_.lanes, lane_rests) &&
               std::ranges::all_of(view_.pools, pool_rests) && !workers_.has_blocked_worker();
    }

    /// Returns a time in which the engine notices a probe that was lost before the calm. The engine
    /// does so when the next probe is due.
    [[nodiscard]] Duration time_to_notice() const {
        Duration longest = Duration::zero();
        for (const PoolSettings& pool : plan_.settings.pools)
            longest = std::max({longest, pool.probe_every, pool.probe_timeout});
        return longest + 5s;
    }

    void run_calm_phase() {
        for (std::size_t pool = 0; pool < plan_.settings.pools.size(); ++pool)
            if (plan_.settings.pools[pool].proof == ProofKind::agree)
                stage_.tell(ProveAsked{PoolId{pool}});
        run_until_settled();
        run_until(stage_.now() + time_to_notice());
        run_until_settled();
        check_calm(Healed::no);
        heal();
        run_until_settled();
        send_fresh_jobs();
        check_calm(Healed::yes);
    }

    void check_calm(Healed healed) {
        if (!is_over()) invariants_.check_calm(stage_.now(), engine_, healed);
    }

    void heal() {
        if (is_over()) return;
        note("the operator heals");
        workers_.end_kill_survivors();
        engine_.view(stage_.now(), view_);
        const View before = view_;
        for (const LaneView& lane : before.lanes) {
            if (lane.state == LaneState::drained) stage_.tell(ResumeAsked{lane.lane});
            if (lane.state == LaneState::failed || lane.state == LaneState::quarantined)
                stage_.tell(RestartAsked{lane.lane});
        }
    }

    void send_fresh_jobs() {
        for (std::size_t pool = 0; pool < plan_.settings.pools.size(); ++pool)
            for (int i = 0; i < 2 && !is_over(); ++i) {
                fresh_.push_back({.pool = PoolId{pool}, .total = Bytes{10}, .run = 20ms});
                clients_.arrive(fresh_key + fresh_.size(), fresh_.back());
                run_until_settled();
            }
    }

    // ── shutdown ─────────────────────────────────────────────────────────────────────────────────

    void check_shutdown() {
        if (stage_.now() <= later(jobs_end_at_, patience_slack) || is_over()) return;
        engine_.view(stage_.now(), view_);
        if (view_.jobs > 0) stage_.complain("shutdown completes", "jobs outlive the patience");
        if (stage_.now() > later(jobs_end_at_, patience_slack + time_to_die()) && leaves_ == 0)
            stage_.complain("shutdown completes", "the patience is long over");
    }

    /// Returns a time in which killed workers die or are given up. A worker that exits meanwhile
    /// gets kill_patience again.
    [[nodiscard]] Duration time_to_die() const {
        Duration longest = 0s;
        for (const PoolSettings& pool : plan_.settings.pools)
            longest = std::max(longest, 2 * pool.kill_patience);
        return longest;
    }

    void run_shutdown_phase() {
        run_until(std::max(stage_.now(), jobs_end_at_) + time_to_die() + 5s);
        if (is_over()) return;
        if (leaves_ != 1)
            stage_.complain("shutdown completes", fmt::format("Leave came {} times", leaves_));
    }

    const Plan& plan_;
    Engine engine_;
    Invariants invariants_;
    Trace trace_;
    Coverage coverage_;
    Stage stage_;
    Clients clients_;
    Workers workers_;
    std::deque<JobScript> fresh_;
    Actions spare_;
    View view_;
    std::uint64_t events_ = 0;
    std::uint64_t events_now_ = 0;
    Instant last_{};
    std::uint64_t leaves_ = 0;
    Instant jobs_end_at_ = never;
};

}  // namespace

RunResult run_plan(const Plan& plan, Tracing tracing) { return World(plan, tracing).run(); }

}  // namespace turnpike::sim
