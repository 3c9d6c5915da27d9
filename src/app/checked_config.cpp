#include "app/checked_config.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "supervisor/proof_check.h"

namespace turnpike {

namespace {

bool is_loopback(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

ConfigOrMistakes checked_config(const std::optional<std::string>& path, const Flags& flags) {
    ConfigOrMistakes config = make_config(path, flags);
    if (!config) return config;
    std::vector<Mistake> mistakes;
    for (const PoolConfig& pool : config->pools)
        if (auto objection = objection_to(pool.proof))
            mistakes.push_back({.file = path.value_or(""),
                                .key = fmt::format("pool.{}.proof.expect_json", pool.name),
                                .problem = std::move(*objection)});
    if (!mistakes.empty()) return std::unexpected(std::move(mistakes));
    return config;
}

KeyFile::Need key_need(const GateConfig& gate) {
    return is_loopback(gate.listen.host) ? KeyFile::Need::if_there_are_any
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
