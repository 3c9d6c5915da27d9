#include "cli/crashes.h"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/plain_text.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/running_gate.h"
#include "setup/environment.h"
#include "telemetry/crash_report.h"
#include "terminal/facts.h"
#include "terminal/safe_text.h"
#include "terminal/terminal.h"

namespace turnpike {
namespace {

namespace json = boost::json;
using enum Column::Side;

std::string words_of(const json::object& crash, std::string_view key) {
    std::string words = text_of(crash, key);
    std::ranges::replace(words, '_', ' ');
    return words;
}

std::string bytes_of(const json::object& crash, std::string_view key) {
    if (text_of(crash, key).empty()) return "";
    auto amount = static_cast<double>(count_of(crash, key));
    if (amount < 1024) return fmt::format("{} B", amount);
    std::string_view unit = "KiB";
    for (const std::string_view larger : {"MiB", "GiB"})
        if (amount >= 1024 * 1024) amount /= 1024, unit = larger;
    return fmt::format("{:.1f} {}", amount / 1024, unit);
}

std::string input_of(const json::object& input) {
    return fmt::format("job {}: {} {}{}", text_of(input, "job"), text_of(input, "request"),
                       bytes_of(input, "bytes"), is_true(input, "cut") ? " (cut off)" : "");
}

/// Appends a line such as "  how        killed by SIGKILL", or nothing if the fact is not known.
void append_fact(std::string& out, std::string_view name, std::string_view fact) {
    if (!fact.empty()) out += fmt::format("  {:<11}{}\n", name, fact);
}

void append_list(std::string& out, std::string_view name, const json::array& list) {
    for (const json::value& item : list)
        if (const json::string* text = item.if_string())
            append_fact(out, name, sanitized({text->data(), text->size()}));
}

void append_log(std::string& out, const json::object& crash) {
    const json::value* value = crash.if_contains("log");
    if (value == nullptr || !value->is_string() || value->get_string().empty()) return;
    std::string_view log(value->get_string().data(), value->get_string().size());
    out += "\nits last lines:\n";
    while (!log.empty()) {
        const std::size_t end = std::min(log.find('\n'), log.size());
        append_plain(out, log.substr(0, end));
        out += '\n';
        log.remove_prefix(std::min(end + 1, log.size()));
    }
}

/// Returns why we killed the worker, or the last line that it printed. After a kill from outside,
/// the last line does not tell why.
std::string why_of(const json::object& crash) {
    constexpr std::size_t size_max = 100;
    const std::size_t signal = count_of(crash, "signal");
    const bool explains_itself = text_of(crash, "why") == "exited" && signal != SIGKILL &&
                                 signal != SIGTERM && !text_of(crash, "last_line").empty();
    if (!explains_itself) return words_of(crash, "why");
    const std::string line = text_of(crash, "last_line");
    constexpr std::string_view by_the_sdk = "turnpike: ";
    return shortened(line.substr(line.starts_with(by_the_sdk) ? by_the_sdk.size() : 0), size_max);
}

int show(const CrashesCommand& command, const std::string& page) {
    if (command.json) return print(page);
    const TextStyle style{.colours = wants_colours(), .columns = stdout_columns()};
    const auto text = command.id ? crash_text(page, style) : crashes_text(page, style);
    return text ? print(*text) : complain(text.error());
}

/// Shows the reports on disk, which outlive the gate.
int show_earlier(const CrashesCommand& command, const CommandError& trouble) {
    const std::string place = state_place(command.gate.value_or("default"));
    const std::string folder = place + "/crashes";
    const auto page = place.empty() || trouble.exit_code != exit_nothing_runs
                          ? std::nullopt
                          : earlier_crashes(folder, command.id);
    if (!page) return complain(trouble);
    print_to_stderr(
        fmt::format("turnpike: no gate is running; these are reports of earlier runs, from {}:\n",
                    sanitized(folder)));
    return show(command, *page);
}

}  // namespace

std::expected<std::string, std::string> crashes_text(std::string_view text, TextStyle style) {
    const auto page = parse_facts(text);
    if (!page) return std::unexpected(page.error());
    Table table{.columns = {{"ID"},
                            {"WHEN"},
                            {"LANE", right},
                            {"LIVED", right},
                            {"HOW", left, 14},
                            {"WHY", left, 14}},
                .rows = {}};
    // A narrow table has no column WHEN, since an ID begins with the time.
    const bool is_narrow = style.columns > 0 && style.columns < 100;
    for (const json::value& value : list_of(*page, "crashes")) {
        const json::object& crash = object_of(value);
        table.rows.push_back({{text_of(crash, "id")},
                              {is_narrow ? "" : time_text(text_of(crash, "time"))},
                              {text_of(crash, "lane")},
                              {span_of(crash, "lived_s")},
                              {text_of(crash, "how"), Paint::red},
                              {why_of(crash)}});
    }
    return table.rows.empty() ? "no worker has died\n"
                              : text_of(is_narrow ? without_empty_columns(table) : table, style);
}

std::expected<std::string, std::string> crash_text(std::string_view text, TextStyle style) {
    const auto crash = parse_facts(text);
    if (!crash) return std::unexpected(crash.error());
    std::string out = painted(text_of(*crash, "id"), Paint::red, style) + "\n";
    append_fact(out, "when", time_text(text_of(*crash, "time")));
    append_fact(out, "lane", text_of(*crash, "lane"));
    append_fact(out, "pool", text_of(*crash, "pool"));
    append_fact(out, "generation", text_of(*crash, "generation"));
    append_fact(out, "how", text_of(*crash, "how"));
    append_fact(out, "why", why_of(*crash));
    append_fact(out, "kernel", text_of(*crash, "oom"));
    append_fact(out, "lived", span_of(*crash, "lived_s"));
    append_fact(out, "pid", text_of(*crash, "pid"));
    append_fact(out, "command", text_of(*crash, "command"));
    append_list(out, "gpu", list_of(*crash, "gpus"));
    append_fact(out, "memory", bytes_of(*crash, "memory_peak_bytes"));
    append_fact(out, "gpu memory", bytes_of(*crash, "gpu_memory_used_bytes"));
    for (const json::value& input : list_of(*crash, "inputs"))
        append_fact(out, "aboard", input_of(object_of(input)));
    append_list(out, "file", list_of(*crash, "files"));
    append_log(out, *crash);
    return out;
}

std::optional<std::string> earlier_crashes(const std::string& folder,
                                           const std::optional<std::string>& id) {
    if (id) return read_crash_report(folder, *id);
    std::string list;
    for (const CrashSummary& crash : list_crash_reports(folder))
        list += (list.empty() ? "" : ",") + crash.json.substr(0, crash.json.size() - 1);
    if (list.empty()) return std::nullopt;
    return "{\"crashes\":[" + list + "]}\n";
}

int run(const CrashesCommand& command) {
    if (command.id && !is_crash_id(*command.id))
        return complain(
            fmt::format("\"{}\" is not the id of a crash report; list them with: turnpike crashes",
                        sanitized(*command.id)));
    const auto got =
        ask_gate(command.gate, {.target = "/-/crashes" + (command.id ? "/" + *command.id : "")});
    return got ? show(command, got->answer.body) : show_earlier(command, got.error());
}

}  // namespace turnpike
