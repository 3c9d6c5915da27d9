// The workload of a run: jobs in clusters. Everything that will happen to a job is drawn here.
#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "sim/chance.h"
#include "sim/plan.h"

namespace turnpike::sim {

namespace {

/// Returns how long jobs usually run: from so short that lanes are mostly idle to about as long as
/// the lanes can keep up with.
Duration draw_usual_run(Random& random) {
    const auto luck = random.below(3);
    if (luck == 0) return between(random, 2ms, 30ms);
    if (luck == 1) return between(random, 30ms, 300ms);
    return between(random, 300ms, 1500ms);
}

Ending draw_ending(const Scenario& scenario, Random& random) {
    if (!random.chance(scenario.trouble))
        return random.chance(3) ? Ending::bad_input : Ending::answers;
    for (;;) {
        const auto ending = static_cast<Ending>(random.below(endings));
        if (scenario.endings.has(ending)) return ending;
    }
}

LaneId draw_wanted(const Plan& plan, PoolId pool, Random& random) {
    if (random.chance(6)) return LaneId{plan.lanes() + random.below(3)};  // no such lane
    for (;;) {
        const LaneId lane{random.below(plan.lanes())};
        // Rarely a lane of another pool.
        if (plan.pool_of(lane) == pool || random.chance(5)) return lane;
    }
}

/// Draws `declared` and the upload of a body whose length is known.
void draw_upload(const Scenario& scenario, Random& random, JobScript& job) {
    job.declared = job.total;
    if (!random.chance(scenario.slow_uploads)) return;
    job.upload = between(random, 1ms, random.chance(50) ? 300ms : 5s);
    if (random.chance(50)) {
        job.chunks = static_cast<std::uint32_t>(random.between(1, 5));
        job.declared = Bytes{random.chance(50) ? 0 : job.total.count / 4};
    }
    if (scenario.leaves > 0 && random.chance(20)) {
        job.stalls = true;
        job.leaves_after = between(random, 1s, 20s);
    }
}

std::uint32_t draw_ending_times(Ending ending, Random& random) {
    // A shell uses a new connection for the second try, so that one is hardly ever stale.
    if (ending == Ending::goes_stale) return random.chance(90) ? 1 : 2;
    return random.chance(50) ? 1000 : 1 + static_cast<std::uint32_t>(random.below(2));
}

/// Draws the length of the body, and what the job does to its worker.
void draw_content(const Scenario& scenario, Duration usual, Random& random, JobScript& job) {
    job.total = Bytes{random.below(random.chance(10) ? 20000 : 1500)};
    job.run = between(random, usual / 2, 2 * usual);
    if (random.chance(scenario.long_runs) && !scenario.is_calm) job.run = between(random, 1s, 12s);
    job.ending = draw_ending(scenario, random);
    job.ending_times = draw_ending_times(job.ending, random);
    if (random.chance(scenario.streams))
        job.stream_parts = static_cast<std::uint32_t>(random.between(1, 5));
    job.ignores_cancel = random.chance(job.ending == Ending::hangs ? 50 : 20);
    job.blocks = random.chance(scenario.blocks) && !scenario.is_calm;
}

void copy_content(const JobScript& from, JobScript& job) {
    job.content = from.content;
    job.total = from.total;
    job.run = from.run;
    job.ending = from.ending;
    job.ending_times = from.ending_times;
    job.stream_parts = from.stream_parts;
    job.ignores_cancel = from.ignores_cancel;
    job.blocks = from.blocks;
}

void draw_client(const Scenario& scenario, Duration usual, Random& random, JobScript& job) {
    if (random.chance(scenario.priorities))
        job.priority = Priority{static_cast<std::uint8_t>(random.below(Priority::levels))};
    const Duration soon = 4 * usual + 200ms;
    if (random.chance(scenario.leaves)) job.leaves_after = between(random, 0ms, soon);
    if (random.chance(scenario.deletes)) job.deleted_after = between(random, 0ms, soon);
    if (random.chance(scenario.timeouts))
        job.timeout = between(random, 1ms, random.chance(70) ? soon : 10s);
}

class Workload {
public:
    Workload(const Scenario& scenario, Random random, Plan& plan)
        : scenario_(scenario), random_(random), plan_(plan), usual_(draw_usual_run(random_)) {}

    void add() {
        draw_clients();
        auto left = random_.between(scenario_.jobs_max / 5, scenario_.jobs_max);
        while (left > 0) {
            const bool burst = random_.chance(scenario_.bursts);
            const auto size =
                std::min(left, burst ? random_.between(5, 40) : random_.between(1, 4));
            add_cluster(size);
            left -= size;
        }
    }

private:
    /// Draws the limits of every client. With one client, draws nothing.
    void draw_clients() {
        if (scenario_.clients_max == 1) return;
        limits_.resize(static_cast<std::size_t>(random_.between(2, scenario_.clients_max)));
        for (ClientLimits& limits : limits_) {
            if (random_.chance(40))
                limits.priority_max = Priority{static_cast<std::uint8_t>(random_.below(10))};
            if (!random_.chance(scenario_.limited)) continue;
            if (random_.chance(70))
                limits.jobs_max = static_cast<std::uint32_t>(random_.between(1, 12));
            if (random_.chance(50)) limits.bytes_max = Bytes{1000 * (1 + random_.below(30))};
            if (scenario_.large > 0) limits.bytes_max.count *= 500;
        }
    }

    std::size_t draw_one_client() { return random_.below(limits_.size()); }

    /// Says whose job it is. Client 1 may send whole clusters, or most jobs that make trouble.
    void draw_sender(std::optional<std::size_t> sender, JobScript& job) {
        if (limits_.empty()) return;
        std::size_t number = sender ? *sender : draw_one_client();
        const bool is_trouble = job.ending != Ending::answers && job.ending != Ending::bad_input;
        if (is_trouble && random_.chance(scenario_.culprits)) number = 1;
        job.client = ClientId{number};
        job.limits = limits_[number];
        if (!random_.chance(scenario_.large) || job.content != 0) return;
        job.total = Bytes{mebibyte.count / 4 * (1 + random_.below(16))};
        if (job.chunks > 0) job.chunks = static_cast<std::uint32_t>(random_.between(2, 8));
        job.declared = Bytes{random_.chance(30) ? 0 : job.total.count};
    }

    std::optional<std::size_t> draw_sender_of_cluster() {
        if (limits_.empty()) return std::nullopt;
        if (random_.chance(scenario_.greedy)) return 1;
        if (random_.chance(50)) return std::nullopt;  // each job has its own
        return draw_one_client();
    }

    void add_cluster(std::int64_t size) {
        const Duration from = between(random_, 0ms, plan_.calm_at - 1s);
        const Duration window = random_.chance(20) ? 0ms : between(random_, 1ms, 2s);
        const PoolId pool{random_.below(plan_.settings.pools.size())};
        const std::optional<JobScript> flood = draw_flood();
        const std::optional<std::size_t> sender = draw_sender_of_cluster();
        for (std::int64_t i = 0; i < size; ++i) {
            JobScript job{.pool = pool, .routed_to = pool};
            draw_content(scenario_, usual_, random_, job);
            if (flood && random_.chance(85))
                copy_content(*flood, job);
            else
                liken(job);
            draw_upload(scenario_, random_, job);
            draw_client(scenario_, usual_, random_, job);
            draw_place(job);
            draw_sender(sender, job);
            const Duration at =
                std::min(from + between(random_, 0ms, window), plan_.calm_at - quiet_before_calm);
            remember(job);
            plan_.stimuli.push_back({.at = at, .payload = job});
        }
    }

    /// Returns the request that most jobs of a cluster are, or nullopt if they differ.
    std::optional<JobScript> draw_flood() {
        if (!random_.chance(scenario_.floods)) return std::nullopt;
        JobScript* const earlier = draw_earlier();
        if (earlier == nullptr) return std::nullopt;
        return request_of(*earlier);
    }

    void draw_place(JobScript& job) {
        if (random_.chance(scenario_.wanted))
            job.lane_wanted = draw_wanted(plan_, job.pool, random_);
        job.is_aside = random_.chance(scenario_.asides);
        if (scenario_.is_calm) job.is_aside = false, job.lane_wanted = LaneId{};
        const std::size_t pools = plan_.settings.pools.size();
        if (pools > 1 && job.total.count % 16 == 0)
            job.routed_to = PoolId{(job.pool.value + 1) % pools};
    }

    /// Makes some jobs the same request as an earlier one, and others only as long.
    void liken(JobScript& job) {
        const bool is_resent = random_.chance(scenario_.resends);
        const bool is_twin = random_.chance(scenario_.twins);
        if (!is_resent && !is_twin) return;
        JobScript* const earlier = draw_earlier();
        if (earlier == nullptr) return;
        if (is_resent)
            copy_content(request_of(*earlier), job);
        else
            job.total = earlier->total;
    }

    /// Returns an earlier job, mostly one that kills its worker, or nullptr if there is none.
    JobScript* draw_earlier() {
        const bool wants_killer = random_.chance(80);
        const std::vector<std::size_t>& among =
            wants_killer && !killers_.empty() ? killers_ : jobs_;
        if (among.empty()) return nullptr;
        const std::size_t index = among[random_.below(among.size())];
        return &std::get<JobScript>(plan_.stimuli[index].payload);
    }

    /// Gives the job a content that others can have too.
    const JobScript& request_of(JobScript& job) {
        if (job.content == 0) job.content = ++contents_;
        return job;
    }

    void remember(const JobScript& job) {
        const std::size_t index = plan_.stimuli.size();
        jobs_.push_back(index);
        const bool kills = job.ending == Ending::kills_worker || job.ending == Ending::dumps_core;
        if (kills && job.content == 0) killers_.push_back(index);
    }

    const Scenario& scenario_;
    Random random_;
    Plan& plan_;
    Duration usual_;
    std::vector<ClientLimits> limits_;  // of each client; empty if there is one only
    std::vector<std::size_t> jobs_;     // their places in the plan
    std::vector<std::size_t> killers_;  // of each content the first job that kills its worker
    std::uint32_t contents_ = 0;
};

}  // namespace

void add_workload(const Scenario& scenario, Random random, Plan& plan) {
    Workload(scenario, random, plan).add();
}

}  // namespace turnpike::sim
