// turnpike-sim: runs the engine in simulated worlds, seed by seed, and shrinks the runs that fail.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "sim/campaign.h"

namespace turnpike::sim {
namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;
constexpr std::size_t trace_lines_max = 3000;
constexpr std::chrono::seconds shrink_time{20};

struct Arguments {
    std::string seeds = "1..20000";
    std::string scenario;
    std::string regressions;
    std::string keep;
    unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
    bool has_keep = false;
    bool trace = false;
    bool hashes = false;
    bool coverage = false;
    bool keep_going = false;
    bool list = false;
    bool no_shrink = false;
};

class Stopwatch {
public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::expected<RunList, std::string> list_from_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) return std::unexpected(fmt::format("{}: can't be read", path));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    auto names = parse_regressions(text);
    if (!names) return std::unexpected(fmt::format("{}: {}", path, names.error()));
    const std::uint64_t count = names->size();
    return RunList{.count = count,
                   .at = [all = std::move(*names)](std::uint64_t i) { return all[i]; }};
}

std::expected<RunList, std::string> list_of(const Arguments& arguments) {
    if (!arguments.regressions.empty()) return list_from_file(arguments.regressions);
    const auto seeds = parse_seeds(arguments.seeds);
    if (!seeds) return std::unexpected("--seeds: " + seeds.error());
    const Scenario* only = find_scenario(arguments.scenario);
    if (only == nullptr && !arguments.scenario.empty())
        return std::unexpected(
            fmt::format("--scenario: no scenario is named '{}'; see --list", arguments.scenario));
    std::optional<Ids> keep;
    if (arguments.has_keep) {
        auto ids = parse_keep(arguments.keep);
        if (!ids) return std::unexpected("--keep: " + ids.error());
        keep = std::move(*ids);
    }
    const auto at = [seeds = *seeds, only, keep](std::uint64_t i) {
        const std::uint64_t seed = seeds.first + i;
        return RunName{
            .scenario = only != nullptr ? only : &scenario_of(seed), .seed = seed, .keep = keep};
    };
    return RunList{.count = seeds->last - seeds->first + 1, .at = at};
}

std::string replay_line(const RunName& name) {
    std::string line = fmt::format("turnpike-sim --scenario {} --seeds {}..{}", name.scenario->name,
                                   name.seed, name.seed);
    if (name.keep) line += fmt::format(" --keep '{}'", fmt::join(*name.keep, ","));
    return line + " --trace";
}

void print_trace(const std::string& trace) {
    std::size_t lines = 0;
    for (const char c : trace) lines += c == '\n' ? 1 : 0;
    std::size_t skip = lines > trace_lines_max ? lines - trace_lines_max : 0;
    if (skip > 0) fmt::print("… {} lines left out …\n", skip);
    std::size_t from = 0;
    for (; skip > 0; --skip) from = trace.find('\n', from) + 1;
    std::fwrite(trace.data() + from, 1, trace.size() - from, stdout);
}

void print_failure(const RunName& name, const Violation& violation) {
    fmt::print("seed {}, scenario {}: {}: {}\n", name.seed, name.scenario->name,
               violation.invariant, violation.detail);
    std::fflush(stdout);
}

void explain(const RunName& name, const Violation& violation) {
    const Stopwatch watch;
    RunName shortest = name;
    const std::size_t before = plan_of(name).stimuli.size();
    shortest.keep =
        shortest_history(name, violation, [&] { return watch.seconds() < shrink_time.count(); });
    const RunResult run = run_plan(plan_of(shortest), Tracing::on);
    fmt::print("\nshrunk from {} to {} stimuli in {:.1f} s; the shortest history:\n\n", before,
               shortest.keep->size(), watch.seconds());
    print_trace(run.trace);
    if (run.violation) fmt::print("\n{}: {}\n", run.violation->invariant, run.violation->detail);
    fmt::print("\nreplay: {}\n", replay_line(shortest));
}

int trace_all(const RunList& list) {
    int status = 0;
    for (std::uint64_t i = 0; i < list.count; ++i) {
        const RunName name = list.at(i);
        const Plan plan = plan_of(name);
        const RunResult run = run_plan(plan, Tracing::on);
        fmt::print("# scenario {} seed {}: {} stimuli\n", name.scenario->name, name.seed,
                   plan.stimuli.size());
        std::fwrite(run.trace.data(), 1, run.trace.size(), stdout);
        fmt::print("# {} events, hash {:016x}\n", run.events, run.hash);
        if (!run.violation) continue;
        fmt::print("# {}: {}\n", run.violation->invariant, run.violation->detail);
        status = exit_failed;
    }
    return status;
}

int run_campaign(const Arguments& arguments, const RunList& list) {
    const Stopwatch watch;
    const bool is_terminal = isatty(STDERR_FILENO) == 1;
    CampaignOptions options{.threads = arguments.jobs,
                            .keep_going = arguments.keep_going,
                            .want_hashes = arguments.hashes};
    if (is_terminal)
        options.progress = [&](std::uint64_t done) {
            fmt::print(stderr, "\r{} of {} seeds, {:.0f} seeds/s ", done, list.count,
                       static_cast<double>(done) / watch.seconds());
        };
    const CampaignResult result = run_all(list, options);
    const double seconds = watch.seconds();
    if (is_terminal) fmt::print(stderr, "\r\033[K");
    for (std::uint64_t i = 0; i < result.hashes.size() && i < result.runs; ++i)
        fmt::print("{} {} {:016x}\n", list.at(i).scenario->name, list.at(i).seed, result.hashes[i]);
    if (arguments.coverage) fmt::print("{}", table_of(result.coverage));
    for (const Failure& failure : result.failures)
        print_failure(list.at(failure.index), failure.violation);
    if (!result.failures.empty() && !arguments.no_shrink)
        explain(list.at(result.failures.front().index), result.failures.front().violation);
    // Hashes on stdout are compared, and times differ from run to run.
    std::FILE* const out = arguments.hashes ? stderr : stdout;
    fmt::print(out, "{} seeds, {} violations, {:.1e} events, {:.0f} s, {:.0f} seeds/s\n",
               result.runs, result.failures.size(), static_cast<double>(result.events), seconds,
               static_cast<double>(result.runs) / seconds);
    return result.failures.empty() ? 0 : exit_failed;
}

int list_scenarios() {
    for (const Scenario& scenario : all_scenarios())
        fmt::print("{:<12} {}\n", scenario.name, scenario.about);
    return 0;
}

int main_of(int argc, char** argv) {
    Arguments arguments;
    CLI::App app{"Runs Turnpike's engine in simulated worlds and checks its invariants."};
    app.add_option("--seeds", arguments.seeds, "A..B (both included), or one seed")
        ->capture_default_str();
    app.add_option("--scenario", arguments.scenario,
                   "Run only this scenario; by default seed n runs scenario n modulo their number");
    CLI::Option* keep =
        app.add_option("--keep", arguments.keep,
                       "Run only these stimuli of the plan, as a shrunken run names them");
    app.add_option("--regressions", arguments.regressions,
                   "Run the runs that a file names, in lines `scenario seed [keep=3,17]  # why`");
    app.add_option("--jobs", arguments.jobs, "Number of threads")
        ->capture_default_str()
        ->check(CLI::Range(1, 1024));
    app.add_flag("--trace", arguments.trace, "Print the whole history of each run");
    app.add_flag("--hashes", arguments.hashes, "Print scenario, seed and trace hash of each run");
    app.add_flag("--coverage", arguments.coverage,
                 "Print how often each event, action and reason occurred, and which never did");
    app.add_flag("--keep-going", arguments.keep_going,
                 "Don't stop at the first violation; list them all");
    app.add_flag("--no-shrink", arguments.no_shrink,
                 "Don't look for the shortest history of a violation");
    app.add_flag("--list", arguments.list, "List the scenarios");
    app.footer(
        "Examples:\n"
        "  turnpike-sim --seeds 1..20000                          every scenario, about 700 seeds "
        "each\n"
        "  turnpike-sim --seeds 1..500 --scenario reload          one scenario\n"
        "  turnpike-sim --scenario solo --seeds 7..7 --keep 3,17 --trace   replay a shrunken "
        "failure\n"
        "  turnpike-sim --regressions sim/regressions.txt         every seed that ever found a "
        "bug\n"
        "Exit: 0 all invariants held, 1 one was broken, 2 wrong usage.");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : exit_usage;
    }
    arguments.has_keep = keep->count() > 0;
    if (arguments.list) return list_scenarios();
    const auto list = list_of(arguments);
    if (!list) {
        fmt::print(stderr, "turnpike-sim: {}\n", list.error());
        return exit_usage;
    }
    return arguments.trace ? trace_all(*list) : run_campaign(arguments, *list);
}

}  // namespace
}  // namespace turnpike::sim

int main(int argc, char** argv) { return turnpike::sim::main_of(argc, argv); }
