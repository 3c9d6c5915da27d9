// The memory of poison: a pool remembers for a while which jobs killed their workers, so that an
// equal job is answered at once and kills nobody. The engine knows jobs by length and digest only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "core/words.h"

namespace turnpike {

struct State;
struct Job;
struct Pool;

struct Poison {
    JobId first;  // the job that was found to be poison
    Bytes length;
    std::optional<Digest> digest;  // nullopt until its JobHashed comes
    Instant until;
};

struct PoisonMemory {
    std::vector<Poison> known;  // oldest first
    std::uint32_t in_row = 0;   // different poisons since the latest answer of the pool
};

namespace poison {

/// Must be called before a poison job ends. Remembers the job if it is surely the cause. Returns true
/// if it is, and nothing shows that the model fails with every job.
[[nodiscard]] bool found(State& s, const Job& job, bool is_surely_poison);

/// True if the job may equal a known poison, because it has the same length.
[[nodiscard]] bool may_equal_known(State& s, Pool& pool, Bytes length);

/// Takes the digest of a job that was found to be poison. If it is one of several in a row, it is the
/// model: forgets all.
void hashed(Pool& pool, JobId job, Digest digest);

/// Returns the poison that has this digest, or nullptr if none is known.
[[nodiscard]] const Poison* find(State& s, Pool& pool, Digest digest);

/// Must be called when a worker of the pool answered a job.
void job_answered(Pool& pool);

/// Forgets all poison of the pool, and which clients sent it.
void forget_all(State& s, Pool& pool);

}  // namespace poison
}  // namespace turnpike
