// Each thread takes the next run of the list. A failure lowers the limit for all threads.
#include "sim/campaign.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <thread>

#include <fmt/format.h>

namespace turnpike::sim {

namespace {

thread_local char running[128] = "";  // what to print when a CHECK fails

extern "C" void name_the_run(int signal) {
    std::fputs(running, stderr);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

/// Prints the name of a run that crashes the program. A sanitizer that already handles the signal
/// keeps it.
void name_runs_that_die() {
    for (const int signal : {SIGABRT, SIGSEGV})
        if (const auto before = std::signal(signal, name_the_run); before != SIG_DFL)
            std::signal(signal, before);
}

void remember(const RunName& name) {
    const auto* const end = fmt::format_to_n(running, sizeof running - 1,
                                             "seed {}, scenario {}: the engine died in this run\n",
                                             name.seed, name.scenario->name)
                                .out;
    running[end - running] = '\0';
}

class Campaign {
public:
    Campaign(const RunList& list, const CampaignOptions& options)
        : list_(list), options_(options), limit_(list.count) {
        result_.coverage.resize(all_scenarios().size());
        if (options.want_hashes) result_.hashes.resize(list.count);
    }

    CampaignResult run() {
        name_runs_that_die();
        std::vector<std::jthread> threads;
        alive_ = std::max(1U, options_.threads);
        for (unsigned i = 0; i < std::max(1U, options_.threads); ++i)
            threads.emplace_back([this] { work(); });
        watch();
        threads.clear();
        std::ranges::sort(result_.failures, {}, &Failure::index);
        if (!options_.keep_going && result_.failures.size() > 1) result_.failures.resize(1);
        result_.runs = limit_.load() < list_.count ? limit_.load() + 1 : list_.count;
        return std::move(result_);
    }

private:
    void work() {
        std::vector<Coverage> coverage(all_scenarios().size());
        std::uint64_t events = 0;
        for (std::uint64_t index = next_++; index < limit_; index = next_++) {
            const RunName name = list_.at(index);
            remember(name);
            RunResult run = run_plan(plan_of(name), Tracing::off);
            coverage[static_cast<std::size_t>(name.scenario - all_scenarios().data())].add(
                run.coverage);
            events += run.events;
            if (options_.want_hashes)
                result_.hashes[index] = run.hash;  // no other thread writes to this index
            if (run.violation) fail(index, std::move(*run.violation));
            ++done_;
        }
        const std::scoped_lock lock(mutex_);
        for (std::size_t i = 0; i < coverage.size(); ++i) result_.coverage[i].add(coverage[i]);
        result_.events += events;
        --alive_;
        over_.notify_one();
    }

    void fail(std::uint64_t index, Violation violation) {
        const std::scoped_lock lock(mutex_);
        result_.failures.push_back({.index = index, .violation = std::move(violation)});
        if (!options_.keep_going) limit_ = std::min(limit_.load(), index);
    }

    void watch() {
        std::unique_lock lock(mutex_);
        while (
            !over_.wait_for(lock, std::chrono::milliseconds(250), [this] { return alive_ == 0; }))
            if (options_.progress) options_.progress(done_);
    }

    const RunList& list_;
    const CampaignOptions& options_;
    CampaignResult result_;
    std::atomic<std::uint64_t> next_ = 0;
    std::atomic<std::uint64_t> done_ = 0;
    std::atomic<std::uint64_t> limit_;
    std::mutex mutex_;
    std::condition_variable over_;
    unsigned alive_ = 0;
};

}  // namespace

Plan plan_of(const RunName& name) {
    Plan plan = make_plan(*name.scenario, name.seed);
    return name.keep ? with_only(std::move(plan), *name.keep) : plan;
}

CampaignResult run_all(const RunList& list, const CampaignOptions& options) {
    return Campaign(list, options).run();
}

Ids shortest_history(const RunName& name, const Violation& violation,
                     const std::function<bool()>& may_go_on) {
    const Plan plan = plan_of(name);
    Ids ids;
    for (const Stimulus& stimulus : plan.stimuli) ids.push_back(stimulus.id);
    const auto still_fails = [&](const Ids& kept) {
        const RunResult run = run_plan(with_only(plan, kept), Tracing::off);
        return run.violation && run.violation->invariant == violation.invariant;
    };
    return shrink(std::move(ids), {.still_fails = still_fails, .may_go_on = may_go_on});
}

}  // namespace turnpike::sim
