#include "core/rounds.h"

#include <bit>

namespace turnpike {

namespace {

bool is_older(const Job* a, const Job* b) {
    return a != nullptr && (b == nullptr || a->since < b->since);
}

}  // namespace

void Rounds::enter(Turn& turn, Instant now) {
    turn.since = now;
    rings_[turn.level].push_back(turn);
    levels_taken_ |= 1U << turn.level;
}

void Rounds::leave(Turn& turn) {
    rings_[turn.level].remove(turn);
    if (rings_[turn.level].empty()) levels_taken_ &= ~(1U << turn.level);
}

void Rounds::push(Job& job, Instant now) {
    if (job.is_retry) return retries_.push(job);
    Line& line = *job.line;
    line.jobs.push(job);
    Turn& turn = line.turns[job.turn_level];
    if (turn.jobs++ == 0 && line.lone_job.is_none()) enter(turn, now);
}

void Rounds::remove(Job& job) {
    if (job.is_retry) return retries_.remove(job);
    Line& line = *job.line;
    line.jobs.remove(job);
    Turn& turn = line.turns[job.turn_level];
    if (--turn.jobs == 0 && line.lone_job.is_none()) leave(turn);
}

Rounds::Choice Rounds::next(Duration age_step) const {
    if (!retries_.empty()) return {.job = retries_.first(age_step), .turn = nullptr};
    Turn* best = nullptr;
    Instant best_rank;
    for (std::uint32_t left = levels_taken_; left != 0; left &= left - 1) {
        const int level = std::countr_zero(left);
        Turn* front = rings_[static_cast<std::size_t>(level)].front();
        const Instant rank = front->since - age_step * level;
        if (best != nullptr && best_rank < rank) continue;
        best = front;
        best_rank = rank;
    }
    if (best == nullptr) return {};
    return {.job = best->line->jobs.first(age_step), .turn = best};
}

void Rounds::had_turn(Turn& turn, Instant now) {
    if (turn.jobs == 0 || !turn.line->lone_job.is_none()) return;  // it has left its ring
    turn.since = now;
    List<Turn, &Turn::links>& ring = rings_[turn.level];
    if (ring.size() == 1) return;
    ring.remove(turn);
    ring.push_back(turn);
}

void Rounds::hold(Line& line, JobId lone_job) {
    CHECK(line.lone_job.is_none());
    for (Turn& turn : line.turns)
        if (turn.jobs > 0) leave(turn);
    line.lone_job = lone_job;
    held_.push_back(line);
}

void Rounds::release(Line& line, Instant now) {
    line.lone_job = {};
    held_.remove(line);
    for (Turn& turn : line.turns)
        if (turn.jobs > 0) enter(turn, now);
}

Job* Rounds::any() const {
    if (Job* job = next(Duration::zero()).job) return job;
    for (const Line* line = held_.front(); line != nullptr; line = line->links.after)
        if (Job* job = line->jobs.first(Duration::zero())) return job;
    return nullptr;
}

const Job* Rounds::oldest() const {
    const Job* oldest = retries_.oldest();
    const auto consider = [&](const Line& line) {
        if (const Job* job = line.jobs.oldest(); is_older(job, oldest)) oldest = job;
    };
    for (const auto& ring : rings_)
        for (const Turn* turn = ring.front(); turn != nullptr; turn = turn->links.after)
            consider(*turn->line);
    for (const Line* line = held_.front(); line != nullptr; line = line->links.after)
        consider(*line);
    return oldest;
}

}  // namespace turnpike
