#include "cli/key.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "cli/command.h"
#include "cli/first_key.h"
#include "cli/print.h"
#include "setup/environment.h"
#include "terminal/facts.h"
#include "terminal/safe_text.h"
#include "terminal/terminal.h"

namespace turnpike {
namespace {

/// True if there is no key yet. If the file can't be read, new_key() says why.
bool is_first(const std::string& path) {
    const auto keys = read_keys(path);
    return keys && keys->empty();
}

std::string_view name_of(Access access) { return access == Access::admin ? "admin" : "plain"; }

std::string limit_text(const ApiKey& key, std::string_view name) {
    return find_key_limit(name)->text(key.limits);
}

std::vector<Cell> row_of(const ApiKey& key) {
    return {{sanitized(key.name)},
            {std::string(name_of(key.access)),
             key.access == Access::admin ? Paint::yellow : Paint::plain},
            {limit_text(key, "jobs_max")},
            {limit_text(key, "bytes_max")},
            {limit_text(key, "rate")},
            {limit_text(key, "priority_max")},
            {sanitized(key.created)}};
}

boost::json::object json_of(const ApiKey& key) {
    const KeyLimits& limits = key.limits;
    const std::string rate = limit_text(key, "rate");
    const boost::json::value none(nullptr);
    return {{"name", key.name},
            {"access", boost::json::string_view(name_of(key.access))},
            {"created", key.created},
            {"jobs_max", limits.jobs_max ? boost::json::value(*limits.jobs_max) : none},
            {"bytes_max", limits.bytes_max ? boost::json::value(limits.bytes_max->count) : none},
            {"rate", rate.empty() ? none : boost::json::value(rate)},
            {"priority_max", limits.priority_max.level}};
}

}  // namespace

std::string keys_text(std::span<const ApiKey> keys, TextStyle style) {
    if (keys.empty()) return "there are no keys; make one with: turnpike key new NAME\n";
    using enum Column::Side;
    Table table{.columns = {{"NAME"},
                            {"ACCESS"},
                            {"JOBS MAX", right},
                            {"BYTES MAX", right},
                            {"RATE", right},
                            {"PRIORITY MAX", right},
                            {"CREATED"}},
                .rows = {}};
    for (const ApiKey& key : keys) table.rows.push_back(row_of(key));
    return text_of(without_empty_columns(table), style);
}

std::string keys_json(std::span<const ApiKey> keys) {
    boost::json::array list;
    for (const ApiKey& key : keys) list.push_back(json_of(key));
    return boost::json::serialize(list) + "\n";
}

int run(const KeyNewCommand& command) {
    const auto path = key_file();
    if (!path) return complain(path.error());
    if (!command.is_confirmed && is_key_name(command.name) && is_first(*path))
        if (const auto gates = gates_without_keys(*path); !gates.empty())
            if (const auto confirmed = confirm_first_key(gates, command.name); !confirmed)
                return complain(confirmed.error());
    const auto key = new_key(*path, command.name, command.access, command.limits);
    if (!key) return complain(key.error(), is_key_name(command.name) ? exit_failed : exit_usage);
    if (const int printed = print(*key + '\n'); printed != exit_done) {
        const bool revoked = revoke_key(*path, command.name).has_value();
        return complain(revoked ? "the new key could not be shown, so it was revoked; try again"
                                : "the new key could not be shown; revoke it with turnpike key "
                                  "revoke, and try again",
                        printed);
    }
    print_to_stderr(
        fmt::format("This is the key of {} ({}); it is not shown again. Clients send it as\n"
                    "  Authorization: Bearer KEY\n",
                    command.name, name_of(command.access)));
    return exit_done;
}

int run(const KeyListCommand& command) {
    const auto path = key_file();
    if (!path) return complain(path.error());
    const auto keys = read_keys(*path);
    if (!keys) return complain(keys.error());
    return print(command.json ? keys_json(*keys) : keys_text(*keys, {.colours = wants_colours()}));
}

int run(const KeyRevokeCommand& command) {
    const auto path = key_file();
    if (!path) return complain(path.error());
    const auto revoked = revoke_key(*path, command.name);
    if (!revoked) return complain(revoked.error());
    return print(fmt::format("the key of {} is revoked\n", command.name));
}

}  // namespace turnpike
