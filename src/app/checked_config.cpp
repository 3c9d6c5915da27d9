#include "app/checked_config.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gate/access.h"
#include "supervisor/proof_check.h"

namespace turnpike {

ConfigOrMistakes checked_config(const std::optional<std::string>& path, const Flags& flags) {
    ConfigOrMistakes config = make_config(path, flags);
    if (!config) return config;
    std::vector<Mistake> mistakes;
    for (const PoolConfig& pool : config->pools)
        if (auto objection = objection_to(pool.proof))
            mistakes.push_back({.file = path.value_or(""),
                                .key = fmt::format("pool.{}.proof.expect_json", pool.name),
                                .problem = std::move(*objection)});
    if (::access((config->gate.spool + "/.").c_str(), W_OK | X_OK) != 0)
        mistakes.push_back({.file = path.value_or(""),
                            .key = "gate.spool",
                            .problem = fmt::format("{} is no folder that can be written: {}",
                                                   config->gate.spool, std::strerror(errno))});
    if (!mistakes.empty()) return std::unexpected(std::move(mistakes));
    return config;
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
