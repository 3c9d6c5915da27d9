#include "cli/status.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "base/span_text.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/running_gate.h"
#include "cli/status_clients.h"
#include "telemetry/lane_words.h"
#include "telemetry/start_phases.h"
#include "terminal/facts.h"
#include "terminal/reload_text.h"
#include "terminal/safe_text.h"
#include "terminal/terminal.h"

namespace turnpike {
namespace {

namespace json = boost::json;
using enum Column::Side;

std::string header(std::string_view gate, const json::object& page, TextStyle style) {
    const bool ends = is_true(page, "shutting_down");
    const bool ready = is_true(page, "ready");
    const std::string state = ends ? "shutting down" : ready ? "ready" : "not ready";
    return fmt::format("gate {}  {}  version {}  up {}  {}\n", sanitized(gate),
                       text_of(page, "address"), text_of(page, "version"),
                       span_of(page, "uptime_s"),
                       painted(state, ready && !ends ? Paint::green : Paint::yellow, style));
}

Cell count_cell(const json::object& object, std::string_view key, Paint paint) {
    std::string text = text_of(object, key);
    if (text == "0") paint = Paint::plain;
    return {std::move(text), paint};
}

/// True if the lane does not serve and will not soon.
bool is_given_up(const json::object& lane) {
    const std::string state = text_of(lane, "state");
    return state == "failed" || state == "quarantined";
}

/// True if the lane's latest start is complete. Until then, and for a lane that never came up, the
/// times are not those of a whole start.
bool has_started(const json::object& lane) {
    return text_of(lane, "starting_s").empty() && !is_given_up(lane);
}

/// True if the pool has lanes and every one of them has failed.
bool have_all_failed(const json::object& page, const std::string& pool) {
    bool is_any = false;
    for (const json::value& value : list_of(page, "lanes")) {
        const json::object& lane = object_of(value);
        if (text_of(lane, "pool") != pool) continue;
        if (!is_given_up(lane)) return false;
        is_any = true;
    }
    return is_any;
}

std::string ready_text(const json::object& page, const json::object& pool) {
    if (is_true(pool, "ready")) return "yes";
    if (have_all_failed(page, text_of(pool, "pool"))) return "no: every lane has failed";
    const std::string proof = text_of(pool, "proof");
    if (proof == "pending") return "no: proof pending";
    return proof == "no majority" ? "no: proofs disagree" : "no";
}

std::vector<Cell> pool_row(const json::object& page, const json::object& pool) {
    const json::object& jobs = object_of(pool, "jobs");
    return {{text_of(pool, "pool")},
            {ready_text(page, pool), is_true(pool, "ready") ? Paint::green : Paint::red},
            {text_of(pool, "queued")},
            {span_of(pool, "oldest_wait_s")},
            {text_of(pool, "running")},
            {span_of(pool, "usual_run_s")},
            {text_of(jobs, "finished")},
            count_cell(jobs, "failed", Paint::red),
            count_cell(jobs, "refused", Paint::yellow),
            count_cell(jobs, "timed_out", Paint::yellow),
            {text_of(jobs, "cancelled")}};
}

Table pools_of(const json::object& page) {
    Table table{.columns = {{"POOL"},
                            {"READY"},
                            {"QUEUED", right},
                            {"OLDEST", right},
                            {"RUNNING", right},
                            {"USUAL RUN", right},
                            {"FINISHED", right},
                            {"FAILED", right},
                            {"REFUSED", right, 0, "0"},
                            {"TIMED OUT", right, 0, "0"},
                            {"CANCELLED", right, 0, "0"}},
                .rows = {}};
    for (const json::value& pool : list_of(page, "pools"))
        table.rows.push_back(pool_row(page, object_of(pool)));
    return table;
}

/// Returns the first lane of the pool whose worker has described its model. Empty if there is no
/// such lane.
const json::object& model_lane(const json::object& page, const std::string& pool) {
    static const json::object none;
    for (const json::value& value : list_of(page, "lanes")) {
        const json::object& lane = object_of(value);
        if (text_of(lane, "pool") == pool && !text_of(lane, "sdk").empty()) return lane;
    }
    return none;
}

/// Returns lines such as "takes: 2 slots, batch 16" and "facts: parameters 4810, accuracy 0.98", if
/// they are known.
std::string remarks_on_model(const json::object& lane, const std::string& pool) {
    constexpr std::size_t size_max = 100;
    std::string lines;
    const std::size_t slots = count_of(lane, "slots");
    const std::size_t batch = count_of(lane, "batch");
    if (slots > 1 || batch > 1)
        lines += fmt::format("{} takes: {} slot{}, batch {}\n", pool, slots, slots == 1 ? "" : "s",
                             batch);
    std::string facts;
    for (const auto& fact : object_of(lane, "model_facts"))
        facts += fmt::format(
            "{}{} {}", facts.empty() ? "" : ", ", sanitized({fact.key().data(), fact.key().size()}),
            text_of(object_of(lane, "model_facts"), {fact.key().data(), fact.key().size()}));
    if (!facts.empty()) lines += fmt::format("{} facts: {}\n", pool, shortened(facts, size_max));
    return lines;
}

/// Returns the lanes of a pool whose latest start is complete.
std::vector<const json::object*> lanes_up(const json::object& page, const std::string& pool) {
    std::vector<const json::object*> lanes;
    for (const json::value& value : list_of(page, "lanes"))
        if (text_of(object_of(value), "pool") == pool && has_started(object_of(value)))
            lanes.push_back(&object_of(value));
    return lanes;
}

/// Returns how long one phase of the lane's latest start took, or 0 if that is not known.
double seconds_of(const json::object& lane, const StartPhase& phase) {
    const json::value* time = object_of(lane, "start").if_contains(phase.key);
    return time == nullptr || !time->is_number() ? 0 : time->to_number<double>() / 1000;
}

/// Returns "starts: spawn 40 ms, import 3.4 s, load 11 ms, first job 1.2 s (slowest of 4 lanes)".
/// Each part is that of the lane that took longest for it. Lanes show their total; the pool shows
/// what to speed up.
std::string remarks_on_starts(const json::object& page, const std::string& pool) {
    const std::vector<const json::object*> lanes = lanes_up(page, pool);
    std::string text;
    for (const StartPhase& phase : start_phases) {
        double longest = 0;
        for (const json::object* lane : lanes)
            longest = std::max(longest, seconds_of(*lane, phase));
        if (longest > 0)
            text +=
                fmt::format("{}{} {}", text.empty() ? "" : ", ", phase.word, span_text(longest));
    }
    if (text.empty()) return "";
    const std::string of = fmt::format(" (slowest of {} lanes)", lanes.size());
    return fmt::format("{} starts: {}{}\n", pool, text, lanes.size() > 1 ? of : "");
}

/// Returns how the latest reload went and, if it failed, the whole error, which developers need.
std::string remarks_on_reload(const json::object& reload, const std::string& pool) {
    const std::string line = reload_line(reload);
    return line.empty() ? "" : fmt::format("{} {}\n{}", pool, line, reload_error(reload));
}

/// Returns what each pool runs, how it started, whether it has a proof, and how its latest reload
/// went. Attached workers are left out here, since their lanes show the URL.
std::string remarks_on(const json::object& page) {
    std::string lines;
    for (const json::value& value : list_of(page, "pools")) {
        const json::object& pool = object_of(value);
        const std::string model = text_of(pool, "model");
        const std::string name = text_of(pool, "pool");
        const std::string python = text_of(pool, "python");
        const json::object& lane = model_lane(page, name);
        const std::string sdk = text_of(lane, "sdk");
        if (text_of(pool, "kind") != "attached")
            lines +=
                fmt::format("{} runs: {}{}{}{}{}\n", name, model, python.empty() ? "" : " with ",
                            python, sdk.empty() ? "" : ", ", sdk) +
                remarks_on_starts(page, name);
        lines += remarks_on_model(lane, name);
        // Whether a model has an example is known only after it has loaded.
        if (text_of(pool, "proof") == "none" && !lanes_up(page, name).empty())
            lines += fmt::format("{} proof: none\n", name);
        lines += remarks_on_reload(object_of(pool, "reload"), name);
    }
    return lines.empty() ? "" : '\n' + lines;
}

Paint paint_of_state(std::string_view state) {
    if (state == "ready" || state == "busy") return Paint::green;
    if (state == "failed" || state == "quarantined") return Paint::red;
    return Paint::yellow;
}

/// Returns the jobs aboard and for how long: "3k9f2m1x0a7bq 0.4 s". Names the first three only.
std::string jobs_aboard(const json::object& lane) {
    constexpr std::size_t shown_max = 3;
    const json::array& jobs = list_of(lane, "jobs");
    std::string text;
    for (std::size_t i = 0; i < jobs.size() && i < shown_max; ++i) {
        const json::object& job = object_of(jobs[i]);
        text +=
            fmt::format("{}{} {}", i == 0 ? "" : ", ", text_of(job, "id"), span_of(job, "run_s"));
    }
    if (jobs.size() > shown_max) text += fmt::format(" and {} more", jobs.size() - shown_max);
    const std::size_t in_all = count_of(lane, "aboard");
    if (in_all > jobs.size())
        text += fmt::format("{}{} cancelled, still running", text.empty() ? "" : ", ",
                            in_all - jobs.size());
    return text;
}

/// Returns how long the latest start took and which part took longest: "3.5 s: import 3.4 s",
/// "420 ms warm: spawn 390 ms".
std::string start_of(const json::object& lane) {
    double total = 0;
    std::pair<double, std::string_view> longest;
    for (const StartPhase& phase : phases_until_serving) {
        const double seconds = seconds_of(lane, phase);
        total += seconds;
        longest = std::max(longest, {seconds, phase.word});
    }
    if (total <= 0 || !has_started(lane)) return "";
    const bool is_warm = is_true(object_of(lane, "start"), "warm");
    return fmt::format("{}{}: {} {}", span_text(total), is_warm ? " warm" : "", longest.second,
                       span_text(longest.first));
}

std::string gpus_of(const json::object& lane) {
    std::string text;
    std::string name;
    for (const json::value& value : list_of(lane, "gpus")) {
        const json::object& gpu = object_of(value);
        const std::string index = text_of(gpu, "index");
        text += (text.empty() ? "" : ",") + (index.empty() ? text_of(gpu, "uuid") : index);
        name = text_of(gpu, "name");
    }
    return name.empty() ? text : text + ' ' + name;
}

/// Returns "3.1 of 139.8 GiB", summed over the lane's GPUs. Empty if the use of one GPU is not
/// known.
std::string memory_of(const json::object& lane) {
    constexpr double gibibyte = 1024.0 * 1024 * 1024;
    double used = 0;
    double total = 0;
    for (const json::value& value : list_of(lane, "gpus")) {
        const json::object& gpu = object_of(value);
        if (text_of(gpu, "memory_used").empty()) return "";
        used += static_cast<double>(count_of(gpu, "memory_used"));
        total += static_cast<double>(count_of(gpu, "memory_total"));
    }
    if (total == 0) return "";
    return fmt::format("{:.1f} of {:.1f} GiB", used / gibibyte, total / gibibyte);
}

/// Returns why the lane does not serve: "its worker does not answer yet: connection refused", "it
/// crashed too often, next try in 4 min 12 s: exit code 1".
/// For a lane that is starting, returns for how long and what its worker said last: "for 3.2 s:
/// Loading weights".
std::string why(const json::object& lane) {
    constexpr std::size_t size_max = 100;
    std::string text(words_for_reason(text_of(lane, "reason")));
    const auto add = [&text](const std::string& more) {
        if (!more.empty()) text += (text.empty() ? "" : ": ") + more;
    };
    const std::string wait = span_of(lane, "next_try_s");
    const std::string next = wait.empty() ? "" : ", next try in " + wait;
    text += next;
    add(text_of(lane, "trouble"));
    add(text_of(lane, "remark"));
    const bool has_trouble = !text_of(lane, "trouble").empty();
    if (const std::string span = span_of(lane, "starting_s"); !span.empty() && !has_trouble) {
        const std::string progress = progress_text(object_of(lane, "loading"));
        add("for " + span);
        add(progress.empty() ? text_of(lane, "last_line") : progress);
    }
    return shortened(text, size_max + next.size());
}

/// Returns the URL of an attached worker. Other lanes show nothing here, since the pool says what
/// they run.
std::string worker_of(const json::object& lane) {
    constexpr std::size_t size_max = 40;
    return shortened(text_of(lane, "worker"), size_max);
}

std::vector<Cell> lane_row(const json::object& lane) {
    const std::string state = text_of(lane, "state");
    return {{text_of(lane, "lane")},
            {text_of(lane, "pool")},
            {gpus_of(lane)},
            {state, paint_of_state(state)},
            {text_of(lane, "pid")},
            {worker_of(lane)},
            {jobs_aboard(lane)},
            {text_of(lane, "finished")},
            count_cell(lane, "failed", Paint::red),
            count_cell(lane, "restarts", Paint::yellow),
            {start_of(lane)},
            {memory_of(lane)},
            {why(lane)}};
}

Table lanes_of(const json::object& page) {
    Table table{.columns = {{"LANE", right},
                            {"POOL"},
                            {"GPU", left, 8},
                            {"STATE"},
                            {"PID", right},
                            {"WORKER", left, 8},
                            {"JOBS ABOARD", left, 16},
                            {"FINISHED", right},
                            {"FAILED", right, 0, "0"},
                            {"RESTARTS", right, 0, "0"},
                            {"START", left, 8},
                            {"MEMORY", right},
                            {"WHY", left, 16}},
                .rows = {}};
    for (const json::value& lane : list_of(page, "lanes"))
        table.rows.push_back(lane_row(object_of(lane)));
    return without_empty_columns(table);
}

/// True if a reload would bring the lanes back: all pools are Python models, and a lane crashed or
/// answered wrongly. A restart would start the same code again, although somebody may have fixed it
/// since.
bool can_reload_revive(const json::object& page) {
    const auto has_python = [](const json::value& pool) {
        return !text_of(object_of(pool), "python").empty();
    };
    const auto is_revived = [](const json::value& lane) {
        const std::string reason = text_of(object_of(lane), "reason");
        return text_of(object_of(lane), "state") == "failed" || reason == "proof_failed" ||
               reason == "disagrees";
    };
    const json::array& pools = list_of(page, "pools");
    return !pools.empty() && std::ranges::all_of(pools, has_python) &&
           std::ranges::any_of(list_of(page, "lanes"), is_revived);
}

/// Returns what to do about lanes that will not serve soon. Leaves out attached workers. Empty if
/// there are none.
std::string advice_on(const json::object& page, std::string_view gate) {
    std::vector<std::size_t> lanes;
    for (const json::value& value : list_of(page, "lanes")) {
        const json::object& lane = object_of(value);
        if (is_given_up(lane) && text_of(lane, "worker").empty())
            lanes.push_back(count_of(lane, "lane"));
    }
    if (lanes.empty()) return "";
    const bool is_one = lanes.size() == 1;
    const bool is_whole = lanes.size() == list_of(page, "lanes").size();
    const std::string what = is_whole && can_reload_revive(page) ? "reload"
                             : is_one   ? fmt::format("restart {}", lanes.front())
                             : is_whole ? "restart all"
                                        : "restart LANE";
    const std::string name = gate == "default" ? "" : " --name " + sanitized(gate);
    return fmt::format(
        "\n{} {} out of service; see: turnpike logs {}{}; then, to try at once: turnpike {}{}\n",
        is_one ? "lane" : "lanes", ranges_text(lanes) + (is_one ? " is" : " are"), lanes.front(),
        name, what, name);
}

}  // namespace

std::expected<std::string, std::string> status_text(const StatusPage& status, TextStyle style) {
    const auto page = parse_facts(status.json);
    if (!page) return std::unexpected(page.error());
    return header(status.gate, *page, style) + '\n' + text_of(pools_of(*page), style) +
           remarks_on(*page) + '\n' + text_of(lanes_of(*page), style) +
           advice_on(*page, status.gate);
}

int run(const StatusCommand& command) {
    const auto got = ask_gate(command.gate, {.target = "/-/status"});
    if (!got) return complain(got.error());
    if (command.json) return print(got->answer.body);
    const StatusPage page{.gate = got->gate, .json = got->answer.body};
    const TextStyle style{.colours = wants_colours(), .columns = stdout_columns()};
    const auto text = command.clients ? clients_text(page, style) : status_text(page, style);
    return text ? print(*text) : complain(text.error());
}

}  // namespace turnpike
