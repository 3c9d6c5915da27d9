// Turns bytes into settings and a sequence of events in any order: mostly about jobs and workers
// that exist, sometimes about ones that are gone or never existed. No real shell does this, but the
// engine must cope: every invariant must hold after every event, and time must move on.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/engine.h"
#include "sim/invariants.h"
#include "sim/trace.h"

namespace {

using namespace turnpike;

/// Reads small numbers from the input. Returns zeros once the input is used up.
class Bytestream {
public:
    Bytestream(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

    [[nodiscard]] bool is_empty() const { return at_ == size_; }
    std::uint8_t byte() { return is_empty() ? std::uint8_t{0} : data_[at_++]; }
    std::uint32_t below(std::uint32_t bound) { return byte() % bound; }
    bool flip() { return (byte() & 1U) != 0; }
    template <class Enum>
    Enum one_of(Enum last) {
        return static_cast<Enum>(below(static_cast<std::uint32_t>(last) + 1));
    }
    Duration duration() { return Duration(1ms) * (1 << below(15)); }

private:
    const std::uint8_t* data_;
    std::size_t size_;
    std::size_t at_ = 0;
};

PoolSettings make_pool(Bytestream& in) {
    PoolSettings pool;
    pool.lanes = 1 + in.below(4);
    pool.slots = 1 + in.below(3);
    pool.batch = 1 + in.below(3);
    pool.ownership = in.one_of(Ownership::attached);
    pool.queue_jobs_max = 1 + in.below(8);
    pool.queue_wait_max = in.duration();
    pool.age_step = in.duration();
    pool.job_timeout = in.duration();
    pool.cancel = in.one_of(CancelPolicy::kill);
    if (pool.cancel == CancelPolicy::kill) pool.slots = pool.batch = 1;
    pool.cancel_grace = in.duration();
    pool.may_retry = in.flip();
    pool.aside_max = 1 + in.below(3);
    pool.load_timeout = in.duration();
    pool.stop_grace = in.duration();
    pool.kill_patience = in.duration();
    pool.crash_limit = 1 + in.below(4);
    pool.crash_window = in.duration();
    pool.probe_every = in.duration();
    pool.probe_failures_max = 1 + in.below(3);
    pool.fail_streak = 1 + in.below(3);
    pool.proof = in.one_of(ProofKind::agree);
    pool.proof_every = in.duration() * 16;
    pool.proof_timeout = in.duration();
    pool.slow_min = in.duration();
    if (in.flip()) pool.abandon_after = in.duration();
    pool.poison_keep = in.duration();
    pool.revive_every = in.duration();
    return pool;
}

Settings make_settings(Bytestream& in) {
    Settings settings;
    const std::uint32_t pools = 1 + in.below(2);
    for (std::uint32_t i = 0; i < pools; ++i) settings.pools.push_back(make_pool(in));
    settings.bytes_max = Bytes{256};
    settings.arriving_max = 1 + in.below(6);
    settings.suspicion_keep = in.duration();
    settings.load_parallel_max = in.below(3);
    return settings;
}

/// Sends events to the engine. It knows only the ids that the engine gave it.
class Shell {
public:
    Shell(Bytestream in, sim::Tracing tracing)
        : in_(in),
          settings_(make_settings(in_)),
          engine_(settings_),
          invariants_(settings_),
          trace_(tracing) {
        for (const PoolSettings& pool : settings_.pools) lanes_ += pool.lanes;
    }

    /// Returns false if an invariant was broken.
    bool run() {
        tell(GateOpened{});
        while (!in_.is_empty() && !invariants_.violation()) tell(next());
        return !invariants_.violation();
    }

    void print() const {
        const auto& broken = invariants_.violation();
        std::fprintf(stderr, "%s%s: %s\n", trace_.text().c_str(), broken->invariant.c_str(),
                     broken->detail.c_str());
    }

private:
    template <class Id>
    Id pick(const std::vector<Id>& known) {
        const std::uint8_t luck = in_.byte();
        if (known.empty() || luck == 255) return Id{luck};
        if (luck >= 224) return known[luck % known.size()];
        return known[known.size() - 1 - luck % std::min<std::size_t>(known.size(), 8)];
    }

    JobArrived arrival() {
        JobArrived event;
        event.ticket = Ticket{++tickets_};
        event.pool = PoolId{in_.below(static_cast<std::uint32_t>(settings_.pools.size()))};
        event.client = ClientId{in_.below(4)};
        event.limits.priority_max.level = static_cast<std::uint8_t>(in_.below(Priority::levels));
        if (in_.below(8) == 0) event.limits.jobs_max = 1 + in_.below(4);
        if (in_.below(8) == 0) event.limits.bytes_max = Bytes{1 + in_.below(200)};
        event.declared = Bytes{in_.byte()};
        event.priority.level = static_cast<std::uint8_t>(in_.below(Priority::levels));
        if (in_.below(4) == 0) event.timeout = in_.duration();
        if (in_.below(6) == 0) event.lane_wanted = LaneId{in_.below(lanes_ + 1)};
        event.is_aside = in_.below(8) == 0;
        return event;
    }

    ReloadAsked reload() {
        return {.pool = pool(),
                .generation = Generation{2 + in_.below(64)},
                .kind = in_.one_of(ReloadKind::in_place)};
    }

    LaneId lane() { return LaneId{in_.below(lanes_ + 1)}; }
    PoolId pool() { return PoolId{in_.below(3)}; }
    WorkerId worker() { return pick(workers_); }
    /// Returns the event of a worker that says its own slots and batch.
    WorkerReady ready_event() {
        return {.worker = worker(),
                .slots = in_.below(4),
                .batch = in_.below(4),
                .has_example = in_.flip()};
    }
    /// Ends an attempt, mostly one of the worker that the event names.
    AttemptEnded end() {
        if (sent_.empty()) return {};
        const SendJob send =
            sent_[sent_.size() - 1 - in_.byte() % std::min<std::size_t>(sent_.size(), 8)];
        const WorkerId sender = in_.below(16) == 0 ? worker() : send.worker;
        return {sender, send.attempt, in_.one_of(Verdict::stale)};
    }

    /// Answers a HashJob, with one of few digests.
    JobHashed hashed() {
        return {.job = pick(hashes_), .digest = Digest{.high = 0, .low = in_.below(4)}};
    }

    static AnswerBegun begun(const AttemptEnded& end) { return {end.worker, end.attempt}; }
    static AnswerMoved moved(const AttemptEnded& end) { return {end.worker, end.attempt}; }

    Event next() {
        switch (in_.below(32)) {
            case 0:
            case 1:
            case 2: return arrival();
            case 3:
                return in_.below(4) == 0 ? Event{JobRouted{pick(jobs_), pool()}}
                                         : Event{BodyGrew{pick(jobs_), Bytes{in_.byte()}}};
            case 4:
            case 5:
            case 6: return BodyCompleted{pick(jobs_), Bytes{in_.byte()}};
            case 7:
                return in_.below(4) == 0
                           ? Event{BodyFailed{pick(jobs_)}}
                           : Event{ClientLeft{pick(jobs_),
                                              in_.flip() ? Departure::left : Departure::too_slow}};
            case 8: return in_.flip() ? Event{CancelAsked{pick(jobs_)}} : Event{hashed()};
            case 9: return WorkerStarted{worker()};
            case 10: return LoadProgressed{worker()};
            case 11: return WorkerReady{worker()};
            case 12: return ready_event();
            case 13: return WorkerExited{worker()};
            case 14:
            case 15: return WorkerGone{worker(), in_.below(4) == 0 ? Memory::held : Memory::freed};
            case 16: return WorkerMisbehaved{worker()};
            case 17: return begun(end());
            case 18: return moved(end());
            case 19:
            case 20:
            case 21: return end();
            case 22: return ProbeEnded{worker(), probe_, in_.one_of(ProbeVerdict::not_sent)};
            case 23:
            case 24: return proof();
            case 25: return MemoryFreed{lane()};
            case 26: return in_.below(4) == 0 ? Event{GpuLost{lane()}} : Event{ProveAsked{pool()}};
            case 27: return DrainAsked{lane()};
            case 28: return ResumeAsked{lane()};
            case 29: return RestartAsked{lane()};
            case 30: return reload();
            case 31:
                if (in_.below(4) == 0) return ClientForgotten{ClientId{in_.below(5)}};
                return in_.below(16) == 0 ? Event{ShutdownAsked{in_.duration()}}
                                          : Event{TimePassed{}};
        }
        return TimePassed{};
    }

    ProofEnded proof() {
        if (proofs_.empty()) return {};
        const auto recent = std::min<std::size_t>(proofs_.size(), 4);
        const ProveWorker asked = proofs_[proofs_.size() - 1 - in_.byte() % recent];
        const bool agrees = proof_kind(asked.worker) == ProofKind::agree;
        const ProofVerdict good = agrees ? ProofVerdict::grouped : ProofVerdict::passed;
        const std::uint32_t group = in_.below(3);
        const std::uint32_t luck = in_.below(8);
        const ProofVerdict verdict = luck == 0   ? ProofVerdict::failed
                                     : luck == 1 ? ProofVerdict::not_sent
                                                 : good;
        return {asked.worker, asked.proof, verdict, group};
    }

    ProofKind proof_kind(WorkerId worker) const {
        std::uint64_t lane = lanes_;
        for (const StartWorker& start : starts_)
            if (start.worker == worker) lane = start.lane.value;
        for (const PoolSettings& pool : settings_.pools) {
            if (lane < pool.lanes) return pool.proof;
            lane -= pool.lanes;
        }
        return ProofKind::none;
    }

    void learn(const Action& action) {
        if (const auto* admit = std::get_if<AdmitJob>(&action)) jobs_.push_back(admit->job);
        if (const auto* hash = std::get_if<HashJob>(&action)) hashes_.push_back(hash->job);
        if (const auto* send = std::get_if<SendJob>(&action)) sent_.push_back(*send);
        if (const auto* probe = std::get_if<ProbeWorker>(&action)) probe_ = probe->probe;
        if (const auto* prove = std::get_if<ProveWorker>(&action)) proofs_.push_back(*prove);
        if (const auto* start = std::get_if<StartWorker>(&action)) {
            workers_.push_back(start->worker);
            starts_.push_back(*start);
        }
    }

    /// Moves time on, and sends TimePassed at every deadline on the way, as a shell does.
    void pass(Duration time) {
        const Instant until = now_ + time;
        for (int i = 0; i < 32 && engine_.next_deadline() <= until; ++i) {
            now_ = std::max(now_, engine_.next_deadline());
            handle(TimePassed{});
        }
        if (engine_.next_deadline() > until) now_ = until;
    }

    void tell(const Event& event) {
        if (in_.flip()) pass(in_.duration());
        if (!invariants_.violation()) handle(event);
    }

    void handle(const Event& event) {
        actions_.clear();
        engine_.handle(event, now_, actions_);
        invariants_.observe(event, now_, actions_, engine_);
        if (trace_.is_on()) trace_.add(now_ - Instant{}, event, actions_);
        for (const Action& action : actions_) learn(action);
    }

    Bytestream in_;
    Settings settings_;
    Engine engine_;
    sim::Invariants invariants_;
    sim::Trace trace_;
    Actions actions_;
    Instant now_{};
    std::uint32_t lanes_ = 0;
    std::uint64_t tickets_ = 0;
    std::uint32_t probe_ = 0;
    std::vector<JobId> jobs_;
    std::vector<JobId> hashes_;
    std::vector<WorkerId> workers_;
    std::vector<StartWorker> starts_;
    std::vector<SendJob> sent_;
    std::vector<ProveWorker> proofs_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (Shell(Bytestream(data, size), sim::Tracing::off).run()) return 0;
    Shell again(Bytestream(data, size), sim::Tracing::on);
    again.run();
    again.print();
    std::abort();
}
