// The only place where time moves.
#include "sim/stage.h"

#include <algorithm>
#include <utility>

#include "sim/trace.h"

namespace turnpike::sim {

namespace {

constexpr Duration clock_start = 1h;  // so that nothing relies on a clock that starts at zero

/// True if the shell may repeat the event. It never repeats an arrival or an order.
bool is_repeatable(const Event& event) {
    return !std::holds_alternative<JobArrived>(event) &&
           !std::holds_alternative<GateOpened>(event) &&
           !std::holds_alternative<ShutdownAsked>(event) &&
           !std::holds_alternative<TimePassed>(event) &&
           !std::holds_alternative<DrainAsked>(event) &&
           !std::holds_alternative<ResumeAsked>(event) &&
           !std::holds_alternative<RestartAsked>(event) &&
           !std::holds_alternative<ProveAsked>(event) && !std::holds_alternative<GpuLost>(event);
}

/// True if the event may come late: it is still true then, and no other event depends on it.
bool is_delayable(const Event& event) {
    return std::holds_alternative<AttemptEnded>(event) ||
           std::holds_alternative<AnswerMoved>(event) ||
           std::holds_alternative<ProbeEnded>(event) || std::holds_alternative<ProofEnded>(event) ||
           std::holds_alternative<LoadProgressed>(event) ||
           std::holds_alternative<MemoryFreed>(event) || std::holds_alternative<JobHashed>(event);
}

}  // namespace

Stage::Stage(const Plan& plan, Listener listener)
    : plan_(plan),
      listener_(std::move(listener)),
      opened_(Instant(clock_start)),
      now_(opened_),
      curses_(plan, opened_) {
    for (const Stimulus& stimulus : plan.stimuli) {
        const auto* fault = std::get_if<ShellFault>(&stimulus.payload);
        if (fault == nullptr) continue;
        const Instant until = opened_ + std::min(stimulus.at + fault->lasts, plan.calm_at);
        shell_faults_.push_back({.fault = *fault, .from = opened_ + stimulus.at, .until = until});
    }
}

void Stage::at(Instant when, std::uint64_t key, Agenda::Act act) {
    const Duration since = when - opened_;
    const Duration grain = plan_.grain;
    const Instant rounded = opened_ + (since + grain - 1ns) / grain * grain;
    const auto moment = static_cast<std::uint64_t>(rounded.time_since_epoch().count());
    agenda_.add(rounded, random(Topic::tie, key, moment).next(), std::move(act));
}

void Stage::tell(const Event& event) {
    const ShellFault* fault = shell_fault();
    if (fault == nullptr || !is_repeatable(event)) return listener_(event);
    const std::uint64_t key = hash_of(event);
    Random luck =
        random(Topic::shell, key, static_cast<std::uint64_t>(now_.time_since_epoch().count()));
    const bool twice = luck.chance(fault->twice);
    const bool again = luck.chance(fault->again);
    const bool delayed = luck.chance(fault->delayed);
    const Duration soon = between(luck, 0ms, 300ms);
    const Duration late = between(luck, 0ms, 10s);
    if (delayed && is_delayable(event) && now_ + soon < calm_at())
        return after(soon, key, [this, event] { listener_(event); });
    if (again && now_ + late < calm_at()) after(late, key, [this, event] { listener_(event); });
    listener_(event);
    if (twice) listener_(event);
}

bool Stage::step(Instant deadline, Instant until) {
    const Instant wake = wake_time(deadline);
    const Instant next = agenda_.next();
    if (std::min(wake, next) > until) {
        now_ = until;
        return false;
    }
    const auto moment = static_cast<std::uint64_t>(wake.time_since_epoch().count());
    const bool is_wake_first =
        wake < next || (wake == next && random(Topic::tie, moment).next() < agenda_.next_tie());
    now_ = std::max(now_, std::min(wake, next));
    if (is_wake_first) {
        listener_(TimePassed{});
    } else {
        const Agenda::Act act = agenda_.pop();
        act();
    }
    return true;
}

void Stage::complain(std::string invariant, std::string detail) {
    if (!complaint_)
        complaint_ = Violation{.invariant = std::move(invariant), .detail = std::move(detail)};
}

const ShellFault* Stage::shell_fault() const {
    for (const ShellFaultPeriod& period : shell_faults_)
        if (now_ >= period.from && now_ < period.until) return &period.fault;
    return nullptr;
}

Instant Stage::wake_time(Instant deadline) const {
    const ShellFault* fault = shell_fault();
    if (deadline == never || fault == nullptr || fault->lag_max == 0s)
        return std::max(deadline, now_);
    const auto moment = static_cast<std::uint64_t>(deadline.time_since_epoch().count());
    Random luck = random(Topic::shell, moment);
    return std::max(deadline + between(luck, 0ms, fault->lag_max), now_);
}

}  // namespace turnpike::sim
