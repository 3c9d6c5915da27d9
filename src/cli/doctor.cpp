#include "cli/doctor.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "cli/command.h"
#include "cli/print.h"
#include "terminal/terminal.h"

namespace turnpike {
namespace {

namespace json = boost::json;
using Mark = Finding::Mark;

std::string_view word_for(Mark mark) {
    switch (mark) {
        case Mark::ok: return "ok";
        case Mark::warn: return "warn";
        case Mark::bad: return "bad";
    }
    std::unreachable();
}

Paint paint_of(Mark mark) {
    switch (mark) {
        case Mark::ok: return Paint::green;
        case Mark::warn: return Paint::yellow;
        case Mark::bad: return Paint::red;
    }
    std::unreachable();
}

std::size_t count_of(const std::vector<Finding>& findings, Mark mark) {
    return static_cast<std::size_t>(std::ranges::count(findings, mark, &Finding::mark));
}

/// Returns "all is well", or counts such as "1 problem, 2 warnings".
std::string summary(const std::vector<Finding>& findings) {
    const std::size_t bad = count_of(findings, Mark::bad);
    const std::size_t warnings = count_of(findings, Mark::warn);
    const std::string warned = fmt::format("{} warning{}", warnings, warnings == 1 ? "" : "s");
    if (bad > 0) return fmt::format("{} problem{}, {}", bad, bad == 1 ? "" : "s", warned);
    return warnings > 0 ? "no problems, " + warned : "all is well";
}

json::value number_or_null(const std::optional<Bytes>& bytes) {
    return bytes ? json::value(bytes->count) : json::value(nullptr);
}

json::value text_or_null(const std::string& text) {
    return text.empty() ? json::value(nullptr) : json::value(text);
}

json::object object_of(const MemoryHolder& holder) {
    return {{"pid", holder.pid},
            {"user", text_or_null(holder.user)},
            {"command", text_or_null(holder.command)},
            {"memory", number_or_null(holder.memory)},
            {"of_a_gate", holder.is_of_a_gate}};
}

json::object object_of(const ExaminedGpu& facts) {
    json::array holders;
    for (const MemoryHolder& holder : facts.holders) holders.push_back(object_of(holder));
    const Gpu& gpu = facts.gpu;
    return {{"index", gpu.index ? json::value(*gpu.index) : json::value(nullptr)},
            {"uuid", gpu.uuid},
            {"name", gpu.name},
            {"bus_id", gpu.bus_id},
            {"memory_total", gpu.memory_total.count},
            {"memory_used", number_or_null(facts.memory_used)},
            {"trouble", text_or_null(facts.trouble)},
            {"visible", facts.is_visible},
            {"holders", std::move(holders)}};
}

json::object object_of(const Finding& finding) {
    return {{"mark", word_for(finding.mark)},
            {"section", finding.section},
            {"what", finding.what},
            {"advice", text_or_null(finding.advice)}};
}

json::object object_of(const Leftover& leftover) {
    return {{"pid", leftover.id.pid}, {"folder", leftover.folder}, {"command", leftover.command}};
}

template <class Thing>
json::array array_of(const std::vector<Thing>& things) {
    json::array list;
    for (const Thing& thing : things) list.push_back(object_of(thing));
    return list;
}

}  // namespace

std::string doctor_text(const std::vector<Finding>& findings, TextStyle style) {
    std::string text;
    std::string_view section;
    for (const Finding& finding : findings) {
        if (finding.section != section)
            text += fmt::format("{}{}\n", text.empty() ? "" : "\n", finding.section);
        section = finding.section;
        const std::string mark = fmt::format("{:<4}", word_for(finding.mark));
        text +=
            fmt::format("  {}  {}\n", painted(mark, paint_of(finding.mark), style), finding.what);
        if (!finding.advice.empty()) text += fmt::format("        {}\n", finding.advice);
    }
    return text + '\n' + summary(findings) + '\n';
}

std::string doctor_json(const MachineFacts& facts, const std::vector<Finding>& findings) {
    json::array gates;
    for (const RunningGate& gate : facts.gates)
        gates.push_back({{"gate", gate.name}, {"pid", gate.pid}});
    json::object page{{"bad", count_of(findings, Mark::bad)},
                      {"warnings", count_of(findings, Mark::warn)},
                      {"driver", text_or_null(facts.driver_version)},
                      {"cuda", facts.cuda ? json::value(*facts.cuda) : json::value(nullptr)},
                      {"no_gpus", text_or_null(facts.machine.no_gpus)},
                      {"gpus", array_of(facts.gpus)},
                      {"gates", std::move(gates)},
                      {"leftovers", array_of(facts.leftovers)},
                      {"findings", array_of(findings)}};
    return json::serialize(page) + "\n";
}

int run(const DoctorCommand& command) {
    const MachineFacts facts = gather_facts();
    const std::vector<Finding> findings = findings_about(facts);
    const int printed = print(command.json ? doctor_json(facts, findings)
                                           : doctor_text(findings, {.colours = wants_colours()}));
    if (printed != exit_done) return printed;
    return count_of(findings, Mark::bad) == 0 ? exit_done : exit_failed;
}

}  // namespace turnpike
