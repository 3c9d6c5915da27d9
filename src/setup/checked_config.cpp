#include "setup/checked_config.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gate/access.h"
#include "proof/proof_check.h"

namespace turnpike {
namespace {

/// Chooses the Python of each pool that has a Python model. Returns the reasons, by pool.
std::vector<std::string> choose_pythons(Config& config, const FindPython& find_python,
                                        std::vector<Mistake>& mistakes) {
    std::vector<std::string> reasons;
    for (PoolConfig& pool : config.pools) {
        std::string& why = reasons.emplace_back();
        if (pool.worker.model.kind != ModelChoice::Kind::python) continue;
        const std::string_view key = pool.worker.python.empty() ? "model" : "python";
        auto python = find_python(pool.worker);
        if (!python) {
            mistakes.push_back(config.sources.mistake(fmt::format("pool.{}.{}", pool.name, key),
                                                      std::move(python.error())));
            continue;
        }
        pool.worker.python = std::move(python->program);
        why = std::move(python->why);
    }
    return reasons;
}

}  // namespace

std::expected<CheckedConfig, std::vector<Mistake>> checked_config(
    const std::optional<std::string>& path, const Flags& flags,
    const std::function<Machine()>& find_machine, const FindPython& find_python) {
    ConfigOrMistakes config = make_config(path, flags);
    if (!config) return std::unexpected(std::move(config.error()));
    const bool starts = std::ranges::any_of(config->pools, &PoolConfig::is_started);
    Machine machine = starts ? find_machine() : Machine{};
    auto lanes = plan_lanes(*config, machine);
    std::vector<Mistake> mistakes;
    if (!lanes) mistakes = std::move(lanes.error());
    std::vector<std::string> python_why = choose_pythons(*config, find_python, mistakes);
    for (const PoolConfig& pool : config->pools)
        if (auto objection = objection_to(pool.proof))
            mistakes.push_back(config->sources.mistake(
                fmt::format("pool.{}.proof.expect_json", pool.name), std::move(*objection)));
    if (::access((config->gate.spool + "/.").c_str(), W_OK | X_OK) != 0)
        mistakes.push_back(config->sources.mistake(
            "gate.spool", fmt::format("{} is not a folder that can be written to: {}",
                                      config->gate.spool, std::strerror(errno))));
    std::ranges::stable_sort(mistakes, std::less{}, &Mistake::line);
    if (!mistakes.empty()) return std::unexpected(std::move(mistakes));
    CheckedConfig checked(std::move(*config), std::move(machine), std::move(*lanes));
    checked.python_why = std::move(python_why);
    return checked;
}

KeyFile::Need key_need(const GateConfig& gate) {
    return is_loopback_host(gate.listen.host) ? KeyFile::Need::if_there_are_any
                                              : KeyFile::Need::required;
}

std::optional<std::string> objection_to_listening(const GateConfig& gate, const KeyFile& keys) {
    if (!keys.problem().empty()) return keys.problem();
    if (!keys.is_required() || !keys.ring().empty()) return std::nullopt;
    return fmt::format(
        "{} can be reached from other machines, so API keys are needed; make one first: turnpike "
        "key new NAME",
        gate.listen.host);
}

}  // namespace turnpike
