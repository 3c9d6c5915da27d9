#include "core/poison.h"

#include <algorithm>

#include "core/state.h"

namespace turnpike::poison {

namespace {

constexpr std::uint32_t in_row_max = 3;  // so many poisons in a row show that it is the model

void forget_expired(const State& s, PoisonMemory& memory) {
    std::erase_if(memory.known, [&](const Poison& it) { return it.until <= s.now; });
}

void count_in_row(PoisonMemory& memory) {
    if (++memory.in_row >= in_row_max) memory.known.clear();
}

}  // namespace

bool found(State& s, const Job& job, bool is_surely_poison) {
    Pool& pool = s.pool_of(job);
    PoisonMemory& memory = pool.poisons;
    if (memory.in_row >= in_row_max) return false;
    if (!is_surely_poison || pool.settings.poison_keep <= Duration::zero()) {
        const bool may_be_known = !job.was_compared && may_equal_known(s, pool, job.bytes);
        if (!may_be_known) count_in_row(memory);
        return is_surely_poison;
    }
    forget_expired(s, memory);
    if (memory.known.size() == poisons_max) memory.known.erase(memory.known.begin());
    memory.known.push_back({.first = job.id,
                            .length = job.bytes,
                            .digest = std::nullopt,
                            .until = later(s.now, pool.settings.poison_keep)});
    s.act(HashJob{job.id});
    return true;
}

bool may_equal_known(State& s, Pool& pool, Bytes length) {
    if (pool.poisons.known.empty()) return false;
    forget_expired(s, pool.poisons);
    return std::ranges::any_of(pool.poisons.known,
                               [&](const Poison& it) { return it.length == length; });
}

void hashed(Pool& pool, JobId job, Digest digest) {
    std::vector<Poison>& known = pool.poisons.known;
    const auto found = std::ranges::find(known, job, &Poison::first);
    if (found == known.end() || found->digest) return;
    // The same request again says nothing about the model.
    if (std::ranges::find(known, digest, &Poison::digest) != known.end()) {
        known.erase(found);
        return;
    }
    found->digest = digest;
    count_in_row(pool.poisons);
}

const Poison* find(State& s, Pool& pool, Digest digest) {
    forget_expired(s, pool.poisons);
    const auto found = std::ranges::find(pool.poisons.known, digest, &Poison::digest);
    return found == pool.poisons.known.end() ? nullptr : &*found;
}

void job_answered(Pool& pool) { pool.poisons.in_row = 0; }

void forget_all(State& s, Pool& pool) {
    pool.poisons = {};
    client::forgive_all(s);
}

}  // namespace turnpike::poison
