// The last step of reading a configuration: the checks that need several values. A value that is
// wrong by itself is not checked again together with others.
#include <algorithm>
#include <map>
#include <utility>

#include "config/reading.h"
#include "config/text.h"
#include "config/worker_checks.h"

namespace turnpike {
namespace {

/// Two amounts. The first must not be above the second.
template <class Amount>
struct Pair {
    std::string lesser_path;
    Amount lesser;
    std::string greater_path;
    Amount greater;
};

template <class Amount>
void check_order(Reading& reading, const Pair<Amount>& pair) {
    const auto& [lesser_path, lesser, greater_path, greater] = pair;
    if (lesser <= greater || !reading.is_sound(lesser_path) || !reading.is_sound(greater_path))
        return;
    const bool is_set = reading.is_set(lesser_path);  // if not, blame the greater value
    reading.add_mistake(is_set ? lesser_path : greater_path,
                        lesser_path + " (" + text_of(lesser) + ") must not be above " +
                            greater_path + " (" + text_of(greater) + ")");
}

void check_sizes(Reading& reading) {
    const Config& config = reading.draft.config;
    check_order<Bytes>(
        reading, {"gate.body_max", config.gate.body_max, "queue.bytes_max", config.bytes_max});
}

void check_there_are_pools(Reading& reading) {
    if (!reading.draft.pools.empty() || !reading.is_sound("pool")) return;
    reading.add_mistake(
        reading.sources.file.empty() ? "--worker" : "pool",
        "there is no pool: serve a model with `turnpike up model.py`, or start HTTP "
        "workers with --worker 'uvicorn app:app --port {port}', or attach to running ones "
        "with --attach http://127.0.0.1:8001, or write a [pool.NAME] into a config file");
}

/// Finds things that are listed twice, in one pool or in two.
class Claims {
public:
    explicit Claims(Reading& reading) : reading_(reading) {}

    void claim(const std::string& thing, const std::string& name, const std::string& path) {
        const auto [first, is_new] = holders_.try_emplace(thing, path);
        if (!is_new)
            reading_.add_mistake(path, name + " is already listed in " + place_of(first->second));
    }

private:
    [[nodiscard]] std::string place_of(const std::string& path) const {
        const auto origin = reading_.sources.origins.find(path);
        if (origin != reading_.sources.origins.end() && !origin->second.flag.empty())
            return origin->second.flag;
        return path.substr(0, path.find('['));
    }

    Reading& reading_;
    std::map<std::string, std::string> holders_;
};

void check_claims(Reading& reading) {
    Claims workers(reading);
    Claims models(reading);
    for (const PoolDraft& pool : reading.draft.pools) {
        const std::vector<WorkerUrl>& attach = pool.config.attach;
        const std::vector<std::string>& names = pool.config.models;
        for (std::size_t i = 0; i < attach.size(); ++i)
            workers.claim(attach[i].host + ' ' + std::to_string(attach[i].port) + attach[i].prefix,
                          in_quotes(attach[i].text), path_of(pool, "attach", i));
        for (std::size_t i = 0; i < names.size(); ++i)
            models.claim(names[i], in_quotes(names[i]), path_of(pool, "models", i));
    }
}

void check_defaults(Reading& reading) {
    const PoolDraft* first = nullptr;
    for (const PoolDraft& pool : reading.draft.pools) {
        if (!pool.config.is_default) continue;
        if (first != nullptr)
            reading.add_mistake(
                path_of(pool, "default"),
                "pool " + first->config.name + " is already the default; remove one of the two");
        else
            first = &pool;
    }
}

void check_pool(Reading& reading, const PoolDraft& pool) {
    const PoolSettings& settings = pool.config.settings;
    if (pool.cancel == CancelPolicy::kill && !pool.config.attach.empty())
        reading.add_mistake(path_of(pool, "cancel"),
                            R"(attached workers can't be killed: use "finish" or "close")");
    else if (pool.cancel == CancelPolicy::kill && (settings.slots > 1 || pool.batch > 1))
        reading.add_mistake(
            path_of(pool, "cancel"),
            R"("kill" needs slots = 1 and no batch: the other jobs aboard would die too)");
    check_order<Duration>(reading,
                          {path_of(pool, "restart_delay_min"), settings.restart_delay_min,
                           path_of(pool, "restart_delay_max"), settings.restart_delay_max});
}

void check_proof(Reading& reading, const PoolDraft& pool) {
    if (!pool.has_proof) return;
    const bool by_json = !pool.expect_json.empty();
    const int ways = int{!pool.expect.empty()} + int{by_json} + int{pool.agree};
    const bool are_sound = std::ranges::all_of(
        std::initializer_list<std::string_view>{"proof.expect", "proof.expect_json", "proof.agree"},
        [&](std::string_view key) { return reading.is_sound(path_of(pool, key)); });
    if (ways != 1 && are_sound)
        reading.add_mistake(
            path_of(pool, "proof"),
            std::string("needs exactly one of expect, expect_json and agree = true; it "
                        "has ") +
                (ways == 0 ? "none" : "several"));
    if (by_json || pool.agree || ways == 0) return;
    for (const auto& [key, tolerance] :
         {std::pair{"proof.tolerance_absolute", pool.config.proof.tolerance_absolute},
          std::pair{"proof.tolerance_relative", pool.config.proof.tolerance_relative}})
        if (tolerance > 0)
            reading.add_mistake(path_of(pool, key), "has no meaning with expect; use expect_json");
}

ProofConfig settled_proof(PoolDraft& pool) {
    ProofConfig proof = std::move(pool.config.proof);
    const bool is_near = proof.tolerance_absolute > 0 || proof.tolerance_relative > 0;
    const bool by_json = !pool.expect_json.empty();
    proof.status = static_cast<int>(pool.proof_status);
    proof.compare = by_json || (pool.agree && is_near) ? Compare::json : Compare::exact;
    proof.expected = std::move(by_json ? pool.expect_json : pool.expect);
    return proof;
}

/// Sets slots and batch, which the model decides if they are not configured.
void settle_native(const Reading& reading, PoolDraft& pool) {
    PoolSettings& settings = pool.config.settings;
    const bool says_slots = reading.is_set(path_of(pool, "slots"));
    pool.config.worker.slots_configured =
        static_cast<std::uint16_t>(says_slots ? settings.slots : 0);
    pool.config.worker.batch_configured = static_cast<std::uint16_t>(pool.batch);
    settings.batch = std::max(pool.batch, 1U);
}

CancelPolicy default_cancel(const PoolConfig& pool) {
    const bool may_finish = !pool.is_native() && pool.settings.slots == 1;
    return may_finish ? CancelPolicy::finish : CancelPolicy::close;
}

PoolConfig settled_pool(const Reading& reading, PoolDraft& pool) {
    const PoolSettings& queue = reading.draft.queue;
    pool.config.proof = settled_proof(pool);
    if (pool.config.is_native()) settle_native(reading, pool);
    pool.config.worker.pin = pool.pin.value_or(pool.config.is_native() ? Pin::uuid : Pin::index);
    PoolSettings& settings = pool.config.settings;
    const bool is_started = pool.config.is_started();
    if (!is_started) settings.lanes = static_cast<std::uint32_t>(pool.config.attach.size());
    settings.ownership = is_started ? Ownership::owned : Ownership::attached;
    settings.queue_jobs_max = queue.queue_jobs_max;
    settings.queue_wait_max = queue.queue_wait_max;
    settings.age_step = queue.age_step;
    settings.cancel = pool.cancel.value_or(default_cancel(pool.config));
    if (pool.has_proof) settings.proof = pool.agree ? ProofKind::agree : ProofKind::fixed;
    return std::move(pool.config);
}

}  // namespace

ConfigOrMistakes settled(Reading reading) {
    check_sizes(reading);
    check_there_are_pools(reading);
    check_claims(reading);
    check_defaults(reading);
    for (const PoolDraft& pool : reading.draft.pools) {
        check_workers(reading, pool);
        check_pool(reading, pool);
        check_proof(reading, pool);
    }
    if (!reading.mistakes.empty()) {
        std::ranges::stable_sort(reading.mistakes, std::less{}, &Mistake::line);
        return std::unexpected(std::move(reading.mistakes));
    }
    Config config = std::move(reading.draft.config);
    for (PoolDraft& pool : reading.draft.pools) config.pools.push_back(settled_pool(reading, pool));
    config.sources = std::move(reading.sources);
    return config;
}

}  // namespace turnpike
