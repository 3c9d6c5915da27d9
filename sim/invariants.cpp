// One turn: the ledger takes the event; each action is judged and taken; then everything that must
// hold after the turn is checked.
#include "sim/invariants.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "sim/judge.h"
#include "sim/ledger.h"

namespace turnpike::sim {

namespace {

/// Records what the engine must have done before this action.
void settle_before(Ledger& ledger, const Action& action) {
    const auto* end = std::get_if<EndJob>(&action);
    const bool makes_room = end != nullptr && (end->reason == EndReason::crowded_out ||
                                               end->reason == EndReason::bytes_full);
    if (!makes_room) ledger.settle_growth();
    ledger.settle_suspects();
}

/// `ledger.seen` must already hold the view of the engine after the turn.
void judge_turn(Ledger& ledger, const Event& event, Instant now, std::span<const Action> actions,
                Instant next_deadline) {
    ledger.begin_turn(event, now, actions);
    ledger.take(event);
    for (const Action& action : actions) {
        settle_before(ledger, action);
        std::visit([&](const auto& it) { judge(ledger, it); }, action);
        if (ledger.violation) return;
    }
    check_fates(ledger);
    check_job_times(ledger);
    check_attempt_times(ledger);
    ledger.look_for_waiting_jobs();
    check_workers(ledger);
    check_idle_lanes(ledger);
    check_reservations(ledger);
    check_health(ledger);
    check_lanes(ledger);
    check_generations(ledger);
    check_shutdown(ledger);
    check_counts(ledger);
    if (!ledger.seen.clients.empty()) check_clients(ledger);
    if (next_deadline <= now)
        ledger.complain(invariant::clock,
                        "next_deadline() has passed, and the engine has just been asked");
    ledger.deadline = next_deadline;
    ledger.end_turn();
}

}  // namespace

Invariants::Invariants(const Settings& settings) : ledger_(std::make_unique<Ledger>(settings)) {}
Invariants::~Invariants() = default;
Invariants::Invariants(Invariants&&) noexcept = default;
Invariants& Invariants::operator=(Invariants&&) noexcept = default;

void Invariants::observe(const Event& event, Instant now, std::span<const Action> appended,
                         const Engine& engine) {
    if (ledger_->violation) return;
    std::swap(ledger_->before, ledger_->seen);
    engine.view(now, ledger_->seen);
    // To compare every client and every job is dear.
    constexpr std::uint64_t rarely = 8;
    ledger_->seen.clients.clear();
    if (ledger_->turn % rarely == 0) engine.view_clients(now, ledger_->seen);
    judge_turn(*ledger_, event, now, appended, engine.next_deadline());
}

void Invariants::observe(const Event& event, Instant now, std::span<const Action> appended,
                         const View& view, Instant next_deadline) {
    if (ledger_->violation) return;
    std::swap(ledger_->before, ledger_->seen);
    ledger_->seen = view;
    judge_turn(*ledger_, event, now, appended, next_deadline);
}

void Invariants::check_calm(Instant now, const Engine& engine, Healed healed) {
    check_calm(now, engine.view(now), healed);
}

void Invariants::check_calm(Instant now, const View& view, Healed healed) {
    if (ledger_->violation) return;
    ledger_->now = now;
    ledger_->seen = view;
    sim::check_calm(*ledger_, healed);
}

const std::optional<Violation>& Invariants::violation() const { return ledger_->violation; }

}  // namespace turnpike::sim
