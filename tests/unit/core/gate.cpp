#include "tests/unit/core/gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

namespace turnpike::test {

namespace {

/// Stops a test whose next deadline never moves on, so that time would stand still.
constexpr int turns_max = 100'000;

std::string with_reason(std::string sentence, Reason reason) {
    if (reason != Reason::none) sentence.append(" ").append(name_of(reason));
    return sentence;
}

std::string text(LaneId lane) { return std::to_string(lane.value); }
std::string text(Generation generation) { return "g" + std::to_string(generation.value); }
std::string text(auto word) { return std::string(name_of(word)); }

}  // namespace

Settings settings_with(std::vector<PoolSettings> pools) {
    Settings settings;
    settings.pools = std::move(pools);
    return settings;
}

Gate::Gate(const PoolSettings& pool) : Gate(settings_with({pool})) {}
Gate::Gate(const Settings& settings) : engine_(settings), invariants_(settings) {}

Gate::~Gate() {
    if (const auto& violation = invariants_.violation())
        ADD_FAILURE() << violation->invariant << ": " << violation->detail;
}

// ── moving the gate ──────────────────────────────────────────────────────────────────────────────

void Gate::hand_over(const Event& event) {
    const std::size_t before = turn_.size();
    engine_.handle(event, now_, turn_);
    const auto appended = std::span(turn_).subspan(before);
    for (const Action& action : appended) note(action);
    if (observes_) invariants_.observe(event, now_, appended, engine_);
    if (answers_probes_) answer_probes(before);
}

void Gate::answer_probes(std::size_t first) {
    const std::size_t last = turn_.size();  // answers append to the turn
    for (std::size_t i = first; i < last; ++i) {
        if (!std::holds_alternative<ProbeWorker>(turn_[i])) continue;
        const auto [worker, probe] = std::get<ProbeWorker>(turn_[i]);
        hand_over(ProbeEnded{worker, probe, ProbeVerdict::answered});
    }
}

void Gate::note(const Action& action) {
    if (const auto* it = std::get_if<StartWorker>(&action))
        workers_.emplace(it->worker, workers_.size());
    if (const auto* it = std::get_if<AdmitJob>(&action)) jobs_.emplace(it->job, jobs_.size());
    if (const auto* it = std::get_if<ProveWorker>(&action)) proofs_[it->worker] = it->proof;
    if (const auto* it = std::get_if<ProbeWorker>(&action)) probes_[it->worker] = it->probe;
    if (const auto* it = std::get_if<SendJob>(&action)) {
        attempts_[it->attempt] = it->job;
        sends_[it->job] = *it;
    }
    if (const auto* it = std::get_if<EndJob>(&action)) {
        EXPECT_FALSE(ends_.contains(it->job)) << name(it->job) << " ended twice";
        ends_[it->job] = it->reason;
    }
}

void Gate::tell(const Event& event) {
    turn_.clear();
    hand_over(event);
}

void Gate::tell_after(Duration time, const Event& event) {
    now_ += time;
    tell(event);
}

void Gate::pass(Duration time) {
    turn_.clear();
    const Instant end = now_ + time;
    for (int turns = 0; engine_.next_deadline() <= end; ++turns) {
        ASSERT_LT(turns, turns_max) << "time stands still";
        now_ = std::max(now_, engine_.next_deadline());
        hand_over(TimePassed{});
    }
    now_ = end;
}

void Gate::open(const WorkerReady& word) {
    tell(GateOpened{});
    Actions all = turn_;
    for (const LaneView& lane : view().lanes) {
        if (lane.current.is_none()) continue;
        comes_up(lane.current, word);
        all.insert(all.end(), turn_.begin(), turn_.end());
    }
    turn_ = std::move(all);
}

JobId Gate::arrive(const Request& request) {
    turn_.clear();
    hand_over(JobArrived{.ticket = Ticket{tickets_++},
                         .pool = PoolId{request.pool},
                         .client = ClientId{request.client},
                         .limits = request.limits,
                         .declared = request.bytes,
                         .priority = {request.priority},
                         .timeout = request.timeout,
                         .lane_wanted = request.lane ? LaneId{*request.lane} : LaneId{},
                         .is_aside = request.is_aside});
    const auto admitted = acts<AdmitJob>();
    return admitted.empty() ? JobId{} : admitted.front().job;
}

JobId Gate::queue_job(const Request& request) {
    const JobId job = arrive(request);
    if (!job.is_none()) hand_over(BodyCompleted{job, request.bytes});
    return job;
}

ClientView Gate::client(std::uint64_t number) const {
    View view;
    engine_.view_clients(now_, view);
    for (const ClientView& client : view.clients)
        if (client.client == ClientId{number}) return client;
    return {};
}

std::vector<JobId> Gate::queue_jobs(std::size_t count) {
    std::vector<JobId> jobs;
    Actions all;
    for (std::size_t i = 0; i < count; ++i) {
        jobs.push_back(queue_job());
        all.insert(all.end(), turn_.begin(), turn_.end());
    }
    turn_ = std::move(all);
    return jobs;
}

void Gate::ends(JobId job, Verdict verdict) {
    tell(AttemptEnded{sent(job).worker, sent(job).attempt, verdict});
}
void Gate::begins(JobId job) { tell(AnswerBegun{sent(job).worker, sent(job).attempt}); }
void Gate::moves(JobId job) { tell(AnswerMoved{sent(job).worker, sent(job).attempt}); }

void Gate::hashed(JobId job, std::uint64_t digest) { tell(JobHashed{job, {0, digest}}); }

void Gate::run_jobs(std::uint64_t lane_number, std::size_t count, Verdict verdict) {
    for (std::size_t i = 0; i < count; ++i) {
        const JobId job = queue_job({.lane = lane_number});
        ASSERT_TRUE(is_running(job)) << "lane " << lane_number << " takes nothing";
        ends(job, verdict);
    }
}

void Gate::comes_up(WorkerId worker, WorkerReady word) {
    turn_.clear();
    word.worker = worker;
    hand_over(WorkerStarted{worker});
    hand_over(word);
    if (proofs_.contains(worker))
        hand_over(ProofEnded{worker, proofs_[worker], ProofVerdict::passed});
}

void Gate::passes_proof(WorkerId worker) {
    tell(ProofEnded{worker, proofs_[worker], ProofVerdict::passed});
}
void Gate::fails_proof(WorkerId worker) {
    tell(ProofEnded{worker, proofs_[worker], ProofVerdict::failed});
}
void Gate::cannot_send_proof(WorkerId worker) {
    tell(ProofEnded{worker, proofs_[worker], ProofVerdict::not_sent});
}
void Gate::votes(WorkerId worker, std::uint32_t group) {
    tell(ProofEnded{worker, proofs_[worker], ProofVerdict::grouped, group});
}
void Gate::answers_probe(WorkerId worker, ProbeVerdict verdict) {
    tell(ProbeEnded{worker, probes_[worker], verdict});
}

void Gate::exits(WorkerId worker) { tell(WorkerExited{worker}); }
void Gate::becomes_gone(WorkerId worker, Memory memory) { tell(WorkerGone{worker, memory}); }

void Gate::dies(WorkerId worker) {
    turn_.clear();
    hand_over(WorkerExited{worker});
    hand_over(WorkerGone{worker});
}

// ── looking at the gate ──────────────────────────────────────────────────────────────────────────

std::vector<std::string> Gate::turn() const {
    std::vector<std::string> sentences;
    for (const Action& action : turn_) sentences.push_back(sentence(action));
    return sentences;
}

std::vector<std::string> Gate::deeds() const {
    std::vector<std::string> sentences;
    for (const Action& action : turn_) {
        if (std::holds_alternative<ReportLane>(action)) continue;
        if (answers_probes_ && std::holds_alternative<ProbeWorker>(action)) continue;
        sentences.push_back(sentence(action));
    }
    return sentences;
}

std::optional<EndReason> Gate::refusal() const {
    const auto refused = acts<RefuseJob>();
    return refused.empty() ? std::nullopt : std::optional(refused.back().reason);
}

std::optional<EndReason> Gate::ended(JobId job) const {
    const auto found = ends_.find(job);
    return found == ends_.end() ? std::nullopt : std::optional(found->second);
}

bool Gate::is_queued(JobId job) const {
    const auto found = engine_.find(job, now_);
    return found && found->state == JobState::queued;
}

bool Gate::is_running(JobId job) const {
    const auto found = engine_.find(job, now_);
    return found && found->state == JobState::running;
}

std::string Gate::name(WorkerId worker) const {
    const auto found = workers_.find(worker);
    return found == workers_.end() ? "w?" : "w" + std::to_string(found->second);
}

std::string Gate::name(JobId job) const {
    const auto found = jobs_.find(job);
    return found == jobs_.end() ? "j?" : "j" + std::to_string(found->second);
}

std::string Gate::sentence(const Action& action) const {
    struct Speaker {
        const Gate& gate;
        std::string operator()(const AdmitJob& a) const { return "admit " + gate.name(a.job); }
        std::string operator()(const RefuseJob& a) const { return "refuse " + text(a.reason); }
        std::string operator()(const HashJob& a) const { return "hash " + gate.name(a.job); }
        std::string operator()(const EndJob& a) const {
            return "end " + gate.name(a.job) + " " + text(a.reason);
        }
        std::string operator()(const StartWorker& a) const {
            return "start " + gate.name(a.worker) + " on " + text(a.lane) + " with " +
                   text(a.generation);
        }
        std::string operator()(const StopWorker& a) const {
            return with_reason("stop " + gate.name(a.worker), a.reason);
        }
        std::string operator()(const KillWorker& a) const {
            return with_reason("kill " + gate.name(a.worker), a.reason);
        }
        std::string operator()(const SendJob& a) const {
            std::string sentence = "send " + gate.name(a.job) + " to " + gate.name(a.worker);
            if (a.batch_size > 1)
                sentence +=
                    " " + std::to_string(a.batch_index + 1) + "/" + std::to_string(a.batch_size);
            return sentence;
        }
        std::string operator()(const CancelAttempt& a) const {
            return "cancel " + gate.name(gate.attempts_.at(a.attempt)) + " on " +
                   gate.name(a.worker);
        }
        std::string operator()(const ProbeWorker& a) const {
            return "probe " + gate.name(a.worker);
        }
        std::string operator()(const ProveWorker& a) const {
            return "prove " + gate.name(a.worker);
        }
        std::string operator()(const Leave&) const { return "leave"; }
        std::string operator()(const ReportLane& a) const {
            return with_reason("lane " + text(a.lane) + " " + text(a.state), a.reason);
        }
        std::string operator()(const ReportSlowJob& a) const { return "slow " + gate.name(a.job); }
        std::string operator()(const ReportSuspect& a) const {
            return "suspect " + gate.name(a.job);
        }
        std::string operator()(const ReportSwitch& a) const {
            return "switch " + text(a.lane) + " to " + gate.name(a.worker);
        }
        std::string operator()(const ReportReload& a) const {
            return "reload " + text(a.generation) + " " + text(a.end);
        }
        std::string operator()(const ReportModelFailing& a) const {
            return "model failing on " + text(a.lane);
        }
        std::string operator()(const ReportNoMajority& a) const {
            return "no majority in " + text(a.generation);
        }
    };
    return std::visit(Speaker{*this}, action);
}

}  // namespace turnpike::test
