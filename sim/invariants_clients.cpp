// Clients: who is suspected, and what the view says that each has.
#include <algorithm>
#include <map>

#include "sim/judge.h"

namespace turnpike::sim {

namespace {

std::map<ClientId, Instant> oldest_jobs(const Ledger& ledger) {
    std::map<ClientId, Instant> oldest;
    for (const auto& [id, job] : ledger.jobs) {
        if (job.state != JobState::queued) continue;
        const auto [it, is_first] = oldest.try_emplace(job.client, job.queued_at);
        it->second = std::min(it->second, job.queued_at);
    }
    return oldest;
}

}  // namespace

void judge(Ledger& ledger, const ReportSuspect& report) {
    const KnownJob* job = ledger.find(report.job);
    if (job == nullptr || job->state != JobState::queued || job->is_alone ||
        job->key.entry == Entry::retry)
        return broken(ledger, invariant::suspicion, "job {} is set apart, but does not wait",
                      show(report.job));
    if (ledger.must_ride_alone(*job) == Sure::no)
        return broken(ledger, invariant::suspicion,
                      "job {} is set apart, but its client {} is not suspected, or is alone",
                      show(report.job), show(job->client));
    if (ledger.find(report.lane) == nullptr)
        return broken(ledger, invariant::suspicion, "job {} is set apart for no lane",
                      show(report.job));
    ledger.apart_now.push_back(report);
}

void check_clients(Ledger& ledger) {
    const std::map<ClientId, Instant> oldest = oldest_jobs(ledger);
    if (ledger.seen.clients.size() != ledger.clients_known())
        return broken(ledger, invariant::counts, "the view shows {} clients, the ledger has {}",
                      ledger.seen.clients.size(), ledger.clients_known());
    for (const ClientView& seen : ledger.seen.clients) {
        const KnownClient& known = ledger.clients[seen.client];
        const auto first = oldest.find(seen.client);
        const ClientView expected{
            .client = seen.client,
            .uploads = known.uploads,
            .queued = known.queued,
            .running = known.live - known.uploads - known.queued,
            .bytes = Bytes{known.bytes},
            .refused = known.refused,
            .oldest_wait = first == oldest.end() ? Duration::zero() : ledger.now - first->second,
            .is_suspected = ledger.is_suspected(seen.client)};
        if (!known.is_known || seen != expected)
            return broken(ledger, invariant::counts, "the view is wrong about client {}",
                          show(seen.client));
    }
}

}  // namespace turnpike::sim
