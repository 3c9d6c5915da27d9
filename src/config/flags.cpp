// Applies the flags after the file. A flag is checked like its key, and a mistake names the flag.
#include <utility>

#include "config/assign.h"
#include "config/places.h"
#include "config/reading.h"
#include "config/text.h"
#include "config/tree.h"
#include "config/worker_checks.h"

namespace turnpike {
namespace {

void read_flag(Reading& reading, const std::string& path, const std::string& flag,
               std::string_view pattern, const Node& node) {
    reading.sources.origins[path] = {.line = 0, .flag = flag};
    for (Flaw& flaw : assign(*find_key(pattern), node, reading.draft))
        reading.add_mistake(path, std::move(flaw.problem));
}

/// Returns the only pool; makes one if there is none. With several pools, adds a mistake and
/// returns nullptr.
PoolDraft* only_pool(Reading& reading, const std::string& flag) {
    auto& pools = reading.draft.pools;
    if (pools.size() > 1) {
        reading.sources.origins[flag] = {.line = 0, .flag = flag};
        reading.add_mistake(flag, "which pool is meant? The file has " +
                                      std::to_string(pools.size()) +
                                      " pools: set the value there, in one [pool.NAME]");
        return nullptr;
    }
    return pools.empty() ? &pools.emplace_back() : &pools.front();
}

/// Sets a value of the only pool.
void read_pool_flag(Reading& reading, const std::string& key, const std::string& flag, Node node) {
    PoolDraft* pool = only_pool(reading, flag);
    if (pool == nullptr) return;
    std::swap(*pool, reading.draft.pool);
    const std::string path = "pool." + reading.draft.pool.config.name + '.' + key;
    if (const auto* items = std::get_if<List>(&node.value))
        for (std::size_t i = 0; i < items->size(); ++i)
            reading.sources.origins[path + '[' + std::to_string(i) + ']'] = {.line = 0,
                                                                             .flag = flag};
    read_flag(reading, path, flag, "pool.*." + key, node);
    std::swap(*pool, reading.draft.pool);
}

void read_attach(Reading& reading, const std::vector<std::string>& urls) {
    List items;
    for (const std::string& url : urls) items.push_back({.value = url});
    read_pool_flag(reading, "attach", "--attach", {.value = std::move(items)});
}

/// Parses "all", "none", "0,2".
Node gpus_of(std::string_view text) {
    if (text == "all" || text == "none") return {.value = std::string(text)};
    List items;
    for (bool is_last = false; !is_last;) {
        const std::size_t comma = text.find(',');
        is_last = comma == std::string_view::npos;
        items.push_back({.value = std::string(text.substr(0, comma))});
        text.remove_prefix(is_last ? 0 : comma + 1);
    }
    return {.value = std::move(items)};
}

void read_count(Reading& reading, const std::string& key, const std::string& flag,
                const std::optional<std::uint32_t>& count) {
    if (count) read_pool_flag(reading, key, flag, {.value = std::int64_t{*count}});
}

/// If there is no pool, the other flags are ignored: settled() reports that there is no pool.
void read_pool_flags(Reading& reading, const Flags& flags) {
    if (!flags.attach.empty() || flags.worker || flags.model) forget_workers(reading, flags);
    if (flags.model) read_pool_flag(reading, "model", "MODEL", {.value = *flags.model});
    if (!flags.attach.empty()) read_attach(reading, flags.attach);
    if (flags.worker) read_pool_flag(reading, "worker", "--worker", {.value = *flags.worker});
    if (reading.draft.pools.empty()) return;
    if (flags.python) read_pool_flag(reading, "python", "--python", {.value = *flags.python});
    if (flags.gpus) read_pool_flag(reading, "gpus", "--gpus", gpus_of(*flags.gpus));
    read_count(reading, "gpus_per_lane", "--gpus-per-lane", flags.gpus_per_lane);
    read_count(reading, "lanes", "--lanes", flags.lanes);
    read_count(reading, "slots", "--slots", flags.slots);
}

/// Watches every pool with a model. Turnpike does not know the files of other pools. If no pool has
/// a model, --watch is a mistake.
void read_watch(Reading& reading) {
    bool is_any = false;
    for (PoolDraft& pool : reading.draft.pools) {
        if (!pool.config.is_native()) continue;
        is_any = pool.config.worker.watch = true;
    }
    if (is_any || reading.draft.pools.empty()) return;
    reading.sources.origins["--watch"] = {.line = 0, .flag = "--watch"};
    reading.add_mistake(
        "--watch",
        "is only for pools with a model: Turnpike does not know the files of an HTTP server; "
        "reload it with `turnpike reload`");
}

void read_host(Reading& reading, const std::string& text) {
    reading.sources.origins["gate.listen"] = {.line = 0, .flag = "--host"};
    auto host = parse_host(text);
    if (host)
        reading.draft.config.gate.listen.host = std::move(*host);
    else
        reading.add_mistake("gate.listen", in_quotes(text) + ' ' + host.error());
}

}  // namespace

void read_flags(Reading& reading, const Flags& flags) {
    read_pool_flags(reading, flags);
    if (flags.watch) read_watch(reading);
    if (flags.host) read_host(reading, *flags.host);
    if (flags.port) reading.draft.config.gate.listen.port = *flags.port;
    if (flags.log_jobs)
        read_flag(reading, "log.jobs", "--log-jobs", "log.jobs", {.value = *flags.log_jobs});
    if (flags.log_starts) reading.draft.config.log.starts = true;
}

}  // namespace turnpike
