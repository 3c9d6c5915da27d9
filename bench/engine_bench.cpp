// Measures what one job costs in the engine, from arrival to answer, for several numbers of lanes
// and of queued jobs. The cost must hardly depend on either: every step is constant or logarithmic.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "bench/allocations.h"
#include "bench/steady_gate.h"

namespace {

void job_through_the_engine(benchmark::State& state) {
    turnpike::PoolSettings pool;
    pool.lanes = static_cast<std::uint32_t>(state.range(0));
    pool.queue_jobs_max = 1'000'000;
    turnpike::SteadyGate gate(pool, static_cast<std::uint32_t>(state.range(1)));
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
