#include "config/worker_checks.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "config/model.h"
#include "config/rows.h"
#include "config/text.h"

namespace turnpike {
namespace {

constexpr std::string_view health_prefix = "health.";

std::vector<std::string> kinds_of(const PoolConfig& pool) {
    std::vector<std::string> kinds;
    if (pool.is_native()) kinds.emplace_back("model");
    if (!pool.worker.command.empty()) kinds.emplace_back("worker");
    if (!pool.attach.empty()) kinds.emplace_back("attach");
    return kinds;
}

void check_attached(Reading& reading, const PoolDraft& pool) {
    for (const Key& key : worker_keys())
        if (const std::string at = path_of(pool, key.name); reading.is_set(at))
            reading.add_mistake(
                at,
                "has no meaning for attached workers: Turnpike neither starts nor ends "
                "them");
}

void check_native(Reading& reading, const PoolDraft& pool) {
    for (const Key& key : pool_keys())
        if (const std::string at = path_of(pool, key.name);
            key.name.starts_with(health_prefix) && reading.is_set(at))
            reading.add_mistake(
                at, "has no meaning for a model: its worker answers Turnpike's own pings");
    if (pool.config.worker.model.kind == ModelChoice::Kind::program &&
        !pool.config.worker.python.empty())
        reading.add_mistake(path_of(pool, "python"),
                            "has no meaning for a program: the model is not a Python file");
    if (pool.config.worker.model.kind == ModelChoice::Kind::program &&
        !pool.config.worker.preload.empty())
        reading.add_mistake(path_of(pool, "preload"),
                            "has no meaning for a program: it imports no Python modules");
}

void check_http(Reading& reading, const PoolDraft& pool) {
    const auto check = [&](std::string_view key, bool is_set) {
        if (is_set)
            reading.add_mistake(path_of(pool, key),
                                "has no meaning for HTTP workers: it is for a pool with a model");
    };
    check("python", !pool.config.worker.python.empty());
    check("batch", pool.batch != 0);
    check("errors", pool.config.errors != ErrorsShown::to_loopback);
    check("watch", pool.config.worker.watch);
    check("warm", !pool.config.worker.warm);
    check("preload", !pool.config.worker.preload.empty());
}

bool are_sound(const Reading& reading, const PoolDraft& pool) {
    return reading.is_sound("pool." + pool.config.name) &&
           std::ranges::all_of(
               std::initializer_list<std::string_view>{"model", "worker", "attach"},
               [&](std::string_view key) { return reading.is_sound(path_of(pool, key)); });
}

}  // namespace

std::string path_of(const PoolDraft& pool, std::string_view key) {
    return "pool." + pool.config.name + "." + std::string(key);
}

std::string path_of(const PoolDraft& pool, std::string_view key, std::size_t item) {
    return path_of(pool, key) + '[' + std::to_string(item) + ']';
}

void check_workers(Reading& reading, const PoolDraft& pool) {
    const std::vector<std::string> kinds = kinds_of(pool.config);
    if (kinds.size() > 1)
        return reading.add_mistake(
            path_of(pool, kinds.front()),
            "a pool has either a model, or HTTP workers that Turnpike starts (worker), or workers "
            "that somebody else started (attach); this one has " +
                kinds.front() + " and " + kinds.back() + ": remove one of them");
    if (kinds.empty()) {
        if (are_sound(reading, pool))
            reading.add_mistake("pool." + pool.config.name,
                                R"(has no workers: set model = "model.py", or worker = )"
                                R"("uvicorn app:app --port {port}", or attach = )"
                                R"(["http://127.0.0.1:8001"])");
        return;
    }
    if (!pool.config.attach.empty()) check_attached(reading, pool);
    if (pool.config.is_native())
        check_native(reading, pool);
    else
        check_http(reading, pool);
}

void check_model_files(Reading& reading) {
    for (const PoolDraft& pool : reading.draft.pools) {
        const ModelChoice& model = pool.config.worker.model;
        if (model.kind == ModelChoice::Kind::none) continue;
        if (const std::string problem = problem_with_file(model); !problem.empty())
            reading.add_mistake(path_of(pool, "model"), in_quotes(model.text) + ' ' + problem);
    }
}

void forget_workers(Reading& reading, const Flags& flags) {
    if (reading.draft.pools.size() != 1) return;
    PoolDraft& pool = reading.draft.pools.front();
    pool.config.attach.clear();
    pool.config.worker.command.clear();
    pool.config.worker.folder.clear();
    pool.config.worker.model = {};
    const auto forget = [&](std::string_view key) {
        reading.sources.origins.erase(path_of(pool, key));
    };
    if (flags.model) {
        for (const Key& key : pool_keys())
            if (key.name.starts_with(health_prefix)) forget(key.name);
    } else {
        pool.config.worker.python.clear();
        pool.batch = 0;
        pool.config.errors = ErrorsShown::to_loopback;
        pool.config.worker.watch = false;
        pool.config.worker.warm = true;
        pool.config.worker.preload.clear();
    }
    if (!flags.attach.empty())
        for (const Key& key : worker_keys()) forget(key.name);
}

}  // namespace turnpike
