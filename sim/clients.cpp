// Clients upload, wait, and leave.
#include "sim/clients.h"

#include <fmt/format.h>

namespace turnpike::sim {

namespace {

/// Returns the digest of the job. The digests of different jobs of one length differ in only one of
/// their halves, so that an engine that compares only the other half is caught.
Digest digest_of(const Clients::Client& client) {
    const JobScript& script = *client.script;
    const std::uint64_t id =
        script.content == 0 ? 2 * client.key : 2 * std::uint64_t{script.content} + 1;
    const std::uint64_t own = mix(1, id);
    const std::uint64_t common = mix(2, script.total.count);
    return id / 2 % 2 == 0 ? Digest{.high = own, .low = common}
                           : Digest{.high = common, .low = own};
}

}  // namespace

void Clients::arrive(std::uint64_t key, const JobScript& script) {
    undecided_[Ticket{key}] = &script;
    stage_.tell(JobArrived{.ticket = Ticket{key},
                           .pool = script.pool,
                           .client = script.client,
                           .limits = script.limits,
                           .declared = script.declared,
                           .priority = script.priority,
                           .timeout = script.timeout,
                           .lane_wanted = script.lane_wanted,
                           .is_aside = script.is_aside});
    if (undecided_.erase(Ticket{key}) > 0)
        stage_.complain("every arrival is decided at once", fmt::format("ticket {} is not", key));
}

void Clients::carry_out(const AdmitJob& action) {
    const auto undecided = undecided_.find(action.ticket);
    if (undecided == undecided_.end())
        return stage_.complain("actions make sense",
                               fmt::format("AdmitJob of ticket {}", action.ticket.value));
    const JobScript& script = *undecided->second;
    undecided_.erase(undecided);
    clients_[action.job] = {.key = action.ticket.value, .script = &script};
    upload(action.job, 0);
    leave_later(action.job);
}

void Clients::carry_out(const RefuseJob& action) {
    if (undecided_.erase(action.ticket) == 0)
        stage_.complain("actions make sense",
                        fmt::format("RefuseJob of ticket {}", action.ticket.value));
}

/// The digest comes even if the job ends meanwhile.
void Clients::carry_out(const HashJob& action) {
    const Client* client = find(action.job);
    if (client == nullptr || client->has_ended || !client->has_body)
        return stage_.complain("actions make sense",
                               fmt::format("HashJob of job {}", action.job.value));
    Random luck = stage_.random(Topic::hash, client->key);
    const Duration soon = between(luck, 0ms, luck.chance(95) ? 40ms : 1s);
    const JobHashed hashed{.job = action.job, .digest = digest_of(*client)};
    stage_.after(soon, client->key, [this, hashed] { stage_.tell(hashed); });
}

void Clients::carry_out(const EndJob& action) {
    const auto client = clients_.find(action.job);
    if (client == clients_.end() || client->second.has_ended)
        return stage_.complain("actions make sense",
                               fmt::format("EndJob of job {}", action.job.value));
    client->second.has_ended = true;
    forget_later(client->second);
    // Some clients hang up just when their answer comes.
    Random luck = stage_.random(Topic::client, client->second.key);
    if (!luck.chance(5)) return;
    const Duration soon = between(luck, 0ms, 10ms);
    stage_.after(soon, client->second.key,
                 [this, job = action.job] { stage_.tell(ClientLeft{job}); });
}

/// Some clients are forgotten after a job, mostly while they have others: then nothing may change.
void Clients::forget_later(const Client& client) {
    if (client.script->client == ClientId{0}) return;
    Random luck = stage_.random(Topic::forget, client.key);
    if (!luck.chance(10)) return;
    const Duration soon = between(luck, 0ms, 500ms);
    stage_.after(soon, client.key, [this, forgotten = client.script->client] {
        stage_.tell(ClientForgotten{forgotten});
    });
}

const Clients::Client* Clients::find(JobId job) const {
    const auto client = clients_.find(job);
    return client == clients_.end() ? nullptr : &client->second;
}

bool Clients::is_waiting(JobId job) const {
    const Client* client = find(job);
    return client != nullptr && !client->has_ended;
}

void Clients::upload(JobId job, std::uint32_t chunks_sent) {
    const Client& client = clients_.at(job);
    const Duration step = client.script->upload / (client.script->chunks + 1);
    stage_.after(step, client.key, [this, job, chunks_sent] {
        if (is_waiting(job)) send_body(job, chunks_sent);
    });
}

void Clients::send_body(JobId job, std::uint32_t chunks_sent) {
    const JobScript& script = *clients_.at(job).script;
    if (chunks_sent == script.chunks) {
        if (script.stalls) return;
        if (script.routed_to != script.pool) stage_.tell(JobRouted{job, script.routed_to});
        if (!is_waiting(job)) return;
        clients_.at(job).has_body = true;
        return stage_.tell(BodyCompleted{.job = job, .total = script.total});
    }
    const std::uint32_t sent = chunks_sent + 1;
    const std::uint64_t grown = script.total.count * sent / (script.chunks + 1);
    if (grown > script.declared.count) stage_.tell(BodyGrew{.job = job, .total = Bytes{grown}});
    if (is_waiting(job)) upload(job, sent);
}

void Clients::leave_later(JobId job) {
    const Client& client = clients_.at(job);
    if (client.script->leaves_after != Duration::max())
        stage_.after(client.script->leaves_after, client.key, [this, job] {
            if (!is_waiting(job)) return;
            const Client& leaver = clients_.at(job);
            const bool fails = leaver.script->stalls && leaver.key % 2 == 0;
            // The gate cuts some clients off instead.
            const auto why = static_cast<Departure>(leaver.key / 2 % 4);
            stage_.tell(fails ? Event{BodyFailed{job}} : Event{ClientLeft{job, why}});
        });
    if (client.script->deleted_after != Duration::max())
        stage_.after(client.script->deleted_after, client.key, [this, job] {
            if (is_waiting(job)) stage_.tell(CancelAsked{job});
        });
}

}  // namespace turnpike::sim
