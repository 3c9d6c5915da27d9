// Describes stimuli in words, for traces.
#include "sim/stimulus.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace turnpike::sim {

namespace {

template <class Enum, std::size_t Count>
constexpr std::string_view name_in(const std::array<std::string_view, Count>& names, Enum value) {
    const auto index = static_cast<std::size_t>(std::to_underlying(value));
    return index < Count ? names[index] : "?";
}

double seconds(Duration duration) {
    return static_cast<double>(duration / 1us) / 1e6;
}  // for people only

struct Describe {
    std::string operator()(const JobScript& job) const {
        std::string text = fmt::format("job: pool {}, {} bytes", job.pool.value, job.total.count);
        if (job.routed_to != job.pool) text += fmt::format(", for pool {}", job.routed_to.value);
        if (job.upload > 0s) text += fmt::format(", upload {:g} s", seconds(job.upload));
        if (job.chunks > 0) text += fmt::format(", {} chunks", job.chunks);
        if (job.stalls) text += ", stalls";
        text += fmt::format(", priority {}", job.priority.level);
        if (job.timeout != Duration::max())
            text += fmt::format(", timeout {:g} s", seconds(job.timeout));
        if (!job.lane_wanted.is_none())
            text += fmt::format(", wants lane {}", job.lane_wanted.value);
        if (job.is_aside) text += ", aside";
        text += fmt::format(", runs {:g} s, {}", seconds(job.run), name_of(job.ending));
        if (job.ending != Ending::answers) text += fmt::format(" ×{}", job.ending_times);
        if (job.stream_parts > 0) text += fmt::format(", {} parts", job.stream_parts);
        if (job.ignores_cancel) text += ", ignores cancel";
        if (job.blocks) text += ", blocks";
        if (job.content != 0) text += fmt::format(", content {}", job.content);
        if (job.leaves_after != Duration::max())
            text += fmt::format(", client leaves after {:g} s", seconds(job.leaves_after));
        if (job.deleted_after != Duration::max())
            text += fmt::format(", deleted after {:g} s", seconds(job.deleted_after));
        return text;
    }
    std::string operator()(const Curse& curse) const {
        return fmt::format("curse on lane {} for {:g} s: {} ({} %)", curse.lane.value,
                           seconds(curse.lasts), name_of(curse.kind), curse.percent);
    }
    std::string operator()(const Blow& blow) const {
        return fmt::format("blow to lane {}: {}", blow.lane.value, name_of(blow.kind));
    }
    std::string operator()(const Order& order) const {
        return fmt::format("order for lane {}: {}", order.lane.value, name_of(order.kind));
    }
    std::string operator()(const Reload& reload) const {
        return fmt::format("reload of pool {}, {}: {}", reload.pool.value, name_of(reload.kind),
                           name_of(reload.quality));
    }
    std::string operator()(const Shutdown& shutdown) const {
        return fmt::format("shutdown, patience {:g} s", seconds(shutdown.patience));
    }
    std::string operator()(const ShellFault& fault) const {
        return fmt::format(
            "shell for {:g} s: twice {} %, again {} %, delayed {} %, lag up to {:g} s",
            seconds(fault.lasts), fault.twice, fault.again, fault.delayed, seconds(fault.lag_max));
    }
};

}  // namespace

std::string_view name_of(Ending value) {
    static constexpr std::array<std::string_view, endings> names{
        "answers",       "bad_input",   "fails",        "non_finite", "out_of_memory",
        "unhealthy",     "breaks_link", "kills_worker", "misbehaves", "hangs",
        "never_arrives", "dumps_core",  "goes_stale",   "falls_short"};
    return name_in(names, value);
}

std::string_view name_of(CurseKind value) {
    static constexpr std::array<std::string_view, curse_kinds> names{"start_fails",
                                                                     "load_slow",
                                                                     "load_silent",
                                                                     "load_exits",
                                                                     "proof_wrong",
                                                                     "proof_silent",
                                                                     "proof_disagrees",
                                                                     "fails_everything",
                                                                     "runs_out_of_memory",
                                                                     "hangs",
                                                                     "crashes",
                                                                     "answers_twice",
                                                                     "answers_after_death",
                                                                     "answers_for_another",
                                                                     "link_silent",
                                                                     "probe_refused",
                                                                     "link_breaks",
                                                                     "ignores_stop",
                                                                     "survives_kill",
                                                                     "memory_held",
                                                                     "gpu_gone",
                                                                     "away",
                                                                     "kills_all",
                                                                     "link_stale",
                                                                     "gate_is_short"};
    return name_in(names, value);
}

std::string_view name_of(BlowKind value) {
    static constexpr std::array<std::string_view, blow_kinds> names{"crash", "crash_pool",
                                                                    "misbehave", "memory_freed"};
    return name_in(names, value);
}

std::string_view name_of(OrderKind value) {
    static constexpr std::array<std::string_view, order_kinds> names{"drain", "resume", "restart",
                                                                     "restart_twice", "prove"};
    return name_in(names, value);
}

std::string_view name_of(Quality value) {
    static constexpr std::array<std::string_view, qualities> names{
        "good", "unloadable", "silent_load", "wrong_proof", "crashes"};
    return name_in(names, value);
}

std::string describe(const Stimulus& stimulus) {
    return fmt::format("stimulus {}: {}", stimulus.id, std::visit(Describe{}, stimulus.payload));
}

}  // namespace turnpike::sim
