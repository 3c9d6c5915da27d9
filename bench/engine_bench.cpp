// What one job costs in the engine, from arrival to answer, against the number of lanes and of queued jobs.
// A job's cost must not depend on either: every step is constant or logarithmic.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "core/engine.h"

namespace {

std::uint64_t allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace turnpike;

/// A gate in steady state: every lane serves, `queued` jobs wait.
class Gate {
public:
    Gate(std::uint32_t lanes, std::uint32_t queued) : engine_(settings(lanes)) {
        tell(GateOpened{});
        const Actions starts = actions_;
        for (const Action& action : starts)
            if (const auto* start = std::get_if<StartWorker>(&action)) {
                tell(WorkerStarted{start->worker});
                tell(WorkerReady{start->worker});
            }
        for (std::uint32_t i = 0; i < queued + (queued > 0 ? lanes : 0); ++i) arrive();
    }

    /// A job arrives and is queued; its lane (or, if jobs wait, the lane of an earlier job) is noted.
    void arrive() {
        tell(JobArrived{.ticket = Ticket{1},
                        .pool = PoolId{0},
                        .declared = Bytes{1000},
                        .priority = {},
                        .timeout = 10h,
                        .lane_wanted = {}});
        const JobId job = std::get<AdmitJob>(actions_.front()).job;
        tell(BodyCompleted{job, Bytes{1000}});
        note_sent();
    }

    /// The job that was sent first is answered; the lane takes the next.
    void answer() {
        const SendJob sent = running_[next_++ % running_.size()];
        tell(AttemptEnded{sent.worker, sent.attempt, Verdict::answered});
        note_sent();
    }

    void one_job() {
        arrive();
        answer();
    }

private:
    static Settings settings(std::uint32_t lanes) {
        PoolSettings pool;
        pool.lanes = lanes;
        pool.queue_jobs_max = 1'000'000;
        Settings all;
        all.pools.push_back(pool);
        return all;
    }

    void tell(const Event& event) {
        actions_.clear();
        now_ += 1us;
        engine_.handle(event, now_, actions_);
    }

    void note_sent() {
        for (const Action& action : actions_)
            if (const auto* sent = std::get_if<SendJob>(&action)) note(*sent);
    }

    void note(const SendJob& sent) {
        if (next_ == 0) {
            running_.push_back(sent);
        } else {
            running_[(next_ - 1) % running_.size()] = sent;
        }
    }

    Engine engine_;
    Actions actions_;
    Instant now_{};
    std::vector<SendJob> running_;
    std::size_t next_ = 0;
};

void job_through_the_engine(benchmark::State& state) {
    Gate gate(static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)));
    for (int i = 0; i < 1000; ++i) gate.one_job();
    const std::uint64_t before = allocations;
    for (auto _ : state) gate.one_job();
    state.counters["allocations_per_job"] = benchmark::Counter(
        static_cast<double>(allocations - before) / static_cast<double>(state.iterations()));
}

BENCHMARK(job_through_the_engine)
    ->ArgNames({"lanes", "queued"})
    ->ArgsProduct({{1, 4, 16, 64}, {0, 10, 1000, 100'000}});

}  // namespace

BENCHMARK_MAIN();
