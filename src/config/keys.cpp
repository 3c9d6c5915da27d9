#include "config/keys.h"

#include <array>
#include <charconv>

#include "config/rows.h"

namespace turnpike {
namespace {

std::string shown(double number) {
    std::array<char, 32> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
    std::string text(buffer.data(), end);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string shown(std::uint32_t count) { return std::to_string(count); }
std::string shown(Duration duration) { return text_of(duration); }
std::string shown(Bytes bytes) { return text_of(bytes); }

struct BoundsText {
    template <class Kind>
    std::string operator()(const Kind& key) const {
        return shown(key.min) + " to " + shown(key.max);
    }
    std::string operator()(const FlagKey&) const { return "true or false"; }
    std::string operator()(const TextKey& key) const { return std::string(key.form); }
    std::string operator()(const ListKey& key) const {
        return "at most " + std::to_string(key.max) + " " + std::string(key.form);
    }
    std::string operator()(const GpusKey&) const {
        return R"("all", "none", or a list such as [0, 1] or ["GPU-8f6a"])";
    }
    std::string operator()(const TableKey& key) const {
        return "at most " + std::to_string(key.max) + " " + std::string(key.form);
    }
};

struct ValueText {
    Draft& draft;

    std::string operator()(const TimeKey& key) const { return '"' + shown(key.at(draft)) + '"'; }
    std::string operator()(const SizeKey& key) const { return '"' + shown(key.at(draft)) + '"'; }
    std::string operator()(const CountKey& key) const { return shown(key.at(draft)); }
    std::string operator()(const NumberKey& key) const { return shown(key.at(draft)); }
    std::string operator()(const FlagKey& key) const { return key.at(draft) ? "true" : "false"; }
    std::string operator()(const TextKey& key) const { return std::string(key.shown); }
    std::string operator()(const ListKey& key) const { return std::string(key.shown); }
    std::string operator()(const GpusKey&) const { return R"("all")"; }
    std::string operator()(const TableKey& key) const { return std::string(key.shown); }
};

}  // namespace

std::span<const Section> sections() {
    static const std::array all{
        Section{"", "", top_keys()},
        Section{"gate.", "The HTTP server that clients connect to.", gate_keys()},
        Section{"queue.", "Limits for jobs that arrive or wait. They hold for every pool.",
                queue_keys()},
        Section{"log.", "The log of jobs, and the logs of what workers print.", log_keys()},
        Section{"crashes.", "Reports about workers that died.", crash_keys()},
        Section{"pool.*.",
                "A pool: the lanes that serve one model. There may be several pools. The name of\n"
                "a pool has 1 to 64 of a-z, 0-9, dot, underscore and hyphen, and does not begin\n"
                "with a dot. Each pool has exactly one of model, worker and attach.",
                pool_keys()},
        Section{"pool.*.",
                "The following keys are only for workers that Turnpike starts (model or worker).",
                worker_keys()},
        Section{"pool.*.", "The following keys are only for pools with a model.", native_keys()},
        Section{"pool.*.proof.",
                "A proof: a request whose right answer is known. A lane must answer it before its\n"
                "first job, after a reload, after trouble, and from time to time. Set exactly\n"
                "one of expect, expect_json and agree = true. Without this section a model's\n"
                "own example is its proof (docs/proofs.md); without an example nothing is proved.",
                proof_keys()},
    };
    return all;
}

const Key* find_key(std::string_view path) {
    for (const Section& section : sections()) {
        if (!path.starts_with(section.prefix)) continue;
        for (const Key& key : section.keys)
            if (key.name == path.substr(section.prefix.size())) return &key;
    }
    return nullptr;
}

bool is_group(std::string_view path) {
    const std::string prefix = std::string(path) + '.';
    for (const Section& section : sections())
        for (const Key& key : section.keys)
            if (std::string(section.prefix).append(key.name).starts_with(prefix)) return true;
    return false;
}

std::string bounds_of(const Key& key) { return std::visit(BoundsText{}, key.kind); }

std::string shown_value(const Key& key, Draft draft) {
    return std::visit(ValueText{draft}, key.kind);
}

}  // namespace turnpike
