// Flags over the file: each is checked as its key is, and a mistake names the flag.
#include <utility>

#include "config/assign.h"
#include "config/places.h"
#include "config/reading.h"
#include "config/text.h"
#include "config/tree.h"

namespace turnpike {
namespace {

void read_flag(Reading& reading, const std::string& path, const std::string& flag,
               std::string_view pattern, const Node& node) {
    reading.origins[path] = {.line = 0, .flag = flag};
    for (Flaw& flaw : assign(*find_key(pattern), node, reading.draft))
        reading.wrong(path, std::move(flaw.problem));
}

/// The pool that a flag is about: the only one, made if there is none.
PoolDraft* only_pool(Reading& reading, const std::string& flag) {
    auto& pools = reading.draft.pools;
    if (pools.size() > 1) {
        reading.origins[flag] = {.line = 0, .flag = flag};
        reading.wrong(flag, "which pool is meant? The file has " + std::to_string(pools.size()) +
                                "; say it there");
        return nullptr;
    }
    return pools.empty() ? &pools.emplace_back() : &pools.front();
}

/// A value of the only pool.
void read_pool_flag(Reading& reading, const std::string& key, const std::string& flag, Node node) {
    PoolDraft* pool = only_pool(reading, flag);
    if (pool == nullptr) return;
    std::swap(*pool, reading.draft.pool);
    const std::string path = "pool." + reading.draft.pool.config.name + '.' + key;
    if (const auto* items = std::get_if<List>(&node.value))
        for (std::size_t i = 0; i < items->size(); ++i)
            reading.origins[path + '[' + std::to_string(i) + ']'] = {.line = 0, .flag = flag};
    read_flag(reading, path, flag, "pool.*." + key, node);
    std::swap(*pool, reading.draft.pool);
}

void read_attach(Reading& reading, const std::vector<std::string>& urls) {
    if (reading.draft.pools.size() == 1) reading.draft.pools.front().config.attach.clear();
    List items;
    for (const std::string& url : urls) items.push_back({.value = url});
    read_pool_flag(reading, "attach", "--attach", {.value = std::move(items)});
}

void read_host(Reading& reading, const std::string& text) {
    reading.origins["gate.listen"] = {.line = 0, .flag = "--host"};
    auto host = parse_host(text);
    if (host)
        reading.draft.config.gate.listen.host = std::move(*host);
    else
        reading.wrong("gate.listen", quoted(text) + ' ' + host.error());
}

}  // namespace

void read_flags(Reading& reading, const Flags& flags) {
    if (!flags.attach.empty()) read_attach(reading, flags.attach);
    if (flags.host) read_host(reading, *flags.host);
    if (flags.port) reading.draft.config.gate.listen.port = *flags.port;
    if (flags.slots && (!reading.draft.pools.empty() || !flags.attach.empty()))
        read_pool_flag(reading, "slots", "--slots", {.value = std::int64_t{*flags.slots}});
    if (flags.log_jobs)
        read_flag(reading, "log.jobs", "--log-jobs", "log.jobs", {.value = *flags.log_jobs});
    if (flags.log_starts) reading.draft.config.log.starts = true;
}

}  // namespace turnpike
