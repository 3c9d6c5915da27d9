// Rounds: the jobs of a pool that any lane may take. Retries go first. Then the clients take turns,
// one job each, so that no client's flood delays the next job of another by more than one round.
//
// A client has a line: its jobs that wait in this pool, in the order of their priority and age
// (core/queue.h). Each level has a ring of turns, one for each client that has jobs of this level.
// The turn at the front of a ring is the next one of its level. Between levels the better of
// `since − level × age_step` decides, where `since` is when the client came to the ring or had its
// latest turn there. So a lower level doesn't starve, and a flood does not grow old.
//
// A turn says whose job goes, not which one: the client sends the first job of its line. So one
// client alone is served as if there were no rounds. A client that had its turn is the last in every
// ring, so jobs of several levels do not give it several turns. Jobs that ask for a lane wait there,
// and their clients take turns with these: each job is a turn of its client, wherever it waits. Only
// if such a job has waited for age_step, what its client had elsewhere no longer holds it back.
// Every operation takes constant time, except oldest().
#pragma once

#include <array>
#include <cstdint>

#include "base/list.h"
#include "core/queue.h"

namespace turnpike {

struct ClientState;
struct Line;

struct Turn {
    Line* line = nullptr;
    Instant since;           // when the client came to this ring, or had its latest turn in it
    std::uint32_t jobs = 0;  // jobs of the line that have this level
    std::uint8_t level = 0;
    Links<Turn> links;
};

struct Line {
    ClientState* client = nullptr;
    PoolId pool;
    Queue jobs;  // those that any lane may take, without retries
    std::array<Turn, Priority::levels> turns;
    std::uint32_t levels_taken = 0;  // bit n is set if turns[n] has jobs
    Instant latest_turn = Instant::min();
    Instant latest_pinned_turn = Instant::min();  // with a job that asked for a lane
    std::uint64_t arriving = 0;                   // asides not counted
    std::uint64_t queued = 0;                     // in this pool, wherever they wait
    std::uint64_t live = 0;                       // jobs that wait or run, asides not counted
    std::uint64_t pinned = 0;  // jobs that arrive or are queued, and ask for a lane
    JobId lone_job;  // must ride alone; until it ends, this line takes no turns. Mostly none
    Links<Line> links;
};

class Rounds {
public:
    /// Adds a job that waits: a retry, or to the line of its client.
    void push(Job& job, Instant now);
    void remove(Job& job);

    /// Returns the job that goes next, if one may.
    [[nodiscard]] Candidate next(Duration age_step) const;

    /// Sends the client to the end of its rings. Must be called when a lane has taken this job, and it is
    /// no retry.
    void had_turn(const Job& job, Instant now);

    /// Takes the line out of all rings until release().
    void hold(Line& line, JobId lone_job);
    void release(Line& line, Instant now);

    /// Returns a job as long as there is one, also of a line that takes no turns: next() first.
    [[nodiscard]] Job* any() const;

    /// Returns the job that was queued longest ago, or nullptr if there is none. Visits every line.
    [[nodiscard]] const Job* oldest() const;

    /// True if next() would return a job.
    [[nodiscard]] bool has_next() const { return levels_taken_ != 0 || !retries_.empty(); }

private:
    void enter(Turn& turn, Instant now);
    void leave(Turn& turn);

    Queue retries_;
    std::array<List<Turn, &Turn::links>, Priority::levels> rings_;
    std::uint32_t levels_taken_ = 0;  // bit n is set if rings_[n] is not empty
    List<Line, &Line::links> held_;
};

}  // namespace turnpike
