#include "app/check.h"

#include <cstddef>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "app/checked_config.h"
#include "app/command.h"
#include "app/config_choice.h"
#include "app/environment.h"
#include "app/print.h"
#include "config/example.h"

namespace turnpike {
namespace {

namespace json = boost::json;

std::string counted(std::size_t count, std::string_view one) {
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

bool takes_the_rest(const Config& config, const PoolConfig& pool) {
    return pool.is_default || config.pools.size() == 1;
}

json::object pool_object(const Config& config, const PoolConfig& pool) {
    json::array workers;
    for (const WorkerUrl& worker : pool.attach) workers.emplace_back(worker.text);
    return {{"pool", pool.name},
            {"slots", pool.settings.slots},
            {"default", takes_the_rest(config, pool)},
            {"workers", std::move(workers)}};
}

}  // namespace

std::string served_text(const Config& config) {
    std::string text = fmt::format("listens on {}{}\n", text_of(config.gate.listen),
                                   config.gate.listen.port == 0 ? " (any free port)" : "");
    std::size_t lane = 0;
    for (const PoolConfig& pool : config.pools) {
        text +=
            fmt::format("pool {}: {}, {} each{}\n", pool.name, counted(pool.attach.size(), "lane"),
                        counted(pool.settings.slots, "slot"),
                        takes_the_rest(config, pool) ? ", takes jobs that name no pool" : "");
        for (const WorkerUrl& worker : pool.attach)
            text += fmt::format("  lane {}  {}\n", lane++, worker.text);
    }
    return text;
}

std::string served_json(const Config& config) {
    json::array pools;
    for (const PoolConfig& pool : config.pools) pools.push_back(pool_object(config, pool));
    return json::serialize(
               json::object{{"listen", text_of(config.gate.listen)}, {"pools", std::move(pools)}}) +
           "\n";
}

std::string mistakes_text(std::span<const Mistake> mistakes) {
    std::string text;
    for (const Mistake& mistake : mistakes) text += text_of(mistake) + '\n';
    return text;
}

std::string mistakes_json(std::span<const Mistake> mistakes) {
    json::array list;
    for (const Mistake& mistake : mistakes)
        list.push_back({{"file", mistake.file},
                        {"line", mistake.line},
                        {"key", mistake.key},
                        {"problem", mistake.problem}});
    return json::serialize(json::object{{"mistakes", std::move(list)}}) + "\n";
}

namespace {

int tell_what_is_served(const Config& config, const CheckCommand& command) {
    const int printed = print(command.json ? served_json(config) : served_text(config));
    const auto path = key_file();
    if (!path) return complain(path.error());
    if (const auto objection =
            objection_to_listening(config.gate, KeyFile(*path, key_need(config.gate))))
        return complain(*objection);
    return printed;
}

}  // namespace

int run(const CheckCommand& command) {
    if (command.example) return print(example_text());
    const auto path =
        choose_config({.said = command.config, .attaches = !command.flags.attach.empty()});
    if (!path) return complain(path.error(), exit_usage);
    const auto config = checked_config(*path, command.flags);
    if (config) return tell_what_is_served(*config, command);
    if (!command.json) {
        advise(mistakes_text(config.error()));
        return exit_usage;
    }
    const int printed = print(mistakes_json(config.error()));
    return printed == exit_done ? exit_usage : printed;
}

}  // namespace turnpike
