#include "core/rounds.h"

#include "base/bits.h"

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
    if (turn.jobs++ > 0) return;
    line.levels_taken |= 1U << turn.level;
    if (line.lone_job.is_none()) enter(turn, now);
}

void Rounds::remove(Job& job) {
    if (job.is_retry) return retries_.remove(job);
    Line& line = *job.line;
    line.jobs.remove(job);
    Turn& turn = line.turns[job.turn_level];
    if (--turn.jobs > 0) return;
    line.levels_taken &= ~(1U << turn.level);
    if (line.lone_job.is_none()) leave(turn);
}

Candidate Rounds::next(Duration age_step) const {
    if (!retries_.empty()) return {.job = retries_.first(age_step), .rank = {}};
    const Turn* best = nullptr;
    Instant best_rank;
    each_bit(levels_taken_, [&](std::size_t level) {
        const Turn* front = rings_[level].front();
        const Instant rank = front->since - age_step * static_cast<int>(level);
        if (best != nullptr && best_rank < rank) return;
        best = front;
        best_rank = rank;
    });
    if (best == nullptr) return {};
    return {.job = best->line->jobs.first(age_step), .rank = best_rank};
}

void Rounds::had_turn(const Job& job, Instant now) {
    Line& line = *job.line;
    line.latest_turn = now;
    if (!job.wanted.is_none()) line.latest_pinned_turn = now;
    if (!line.lone_job.is_none()) return;  // it is in no ring
    each_bit(line.levels_taken, [&](std::size_t level) {
        Turn& turn = line.turns[level];
        turn.since = now;
        List<Turn, &Turn::links>& ring = rings_[level];
        if (ring.size() == 1) return;
        ring.remove(turn);
        ring.push_back(turn);
    });
}

void Rounds::hold(Line& line, JobId lone_job) {
    CHECK(line.lone_job.is_none());
    each_bit(line.levels_taken, [&](std::size_t level) { leave(line.turns[level]); });
    line.lone_job = lone_job;
    held_.push_back(line);
}

void Rounds::release(Line& line, Instant now) {
    line.lone_job = {};
    held_.remove(line);
    each_bit(line.levels_taken, [&](std::size_t level) { enter(line.turns[level], now); });
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
