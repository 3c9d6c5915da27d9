#include "cli/jobs.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <boost/json.hpp>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/running_gate.h"
#include "terminal/facts.h"
#include "terminal/terminal.h"

namespace turnpike {
namespace {

namespace json = boost::json;
using enum Column::Side;

std::string request_of(const json::object& job) {
    return text_of(job, "method") + ' ' + text_of(job, "path");
}

/// Returns the pool's name. Empty for "default", which tells nothing.
std::string pool_of(const json::object& job) {
    std::string pool = text_of(job, "pool");
    return pool == "default" ? "" : pool;
}

/// Returns the client's address. Empty for a client on this machine.
std::string client_of(const json::object& job) {
    std::string client = text_of(job, "client");
    const bool is_here = client.starts_with("127.") || client.starts_with("[::1]");
    return is_here ? "" : client;
}

Table live_of(const json::array& jobs) {
    Table table{.columns = {{"LIVE JOB"},
                            {"POOL"},
                            {"STATE"},
                            {"FOR", right},
                            {"LANE", right},
                            {"TRIES", right, 0, "1"},
                            {"REQUEST", left, 12},
                            {"PROGRESS", left, 16},
                            {"CLIENT"}},
                .rows = {}};
    for (const json::value& value : jobs) {
        const json::object& job = object_of(value);
        const std::string state = text_of(job, "state");
        table.rows.push_back({{text_of(job, "id")},
                              {pool_of(job)},
                              {state, state == "running" ? Paint::green : Paint::plain},
                              {span_of(job, "since_s")},
                              {text_of(job, "lane")},
                              {text_of(job, "attempts")},
                              {request_of(job)},
                              {progress_text(object_of(job, "progress"))},
                              {client_of(job)}});
    }
    return without_empty_columns(table);
}

/// Returns "finished", or what happened and why: "timed out: waited too long".
Cell outcome_of(const json::object& job) {
    std::string outcome = text_of(job, "outcome");
    if (outcome == "finished") return {std::move(outcome), Paint::green};
    std::string text = outcome + ": " + text_of(job, "reason");
    std::ranges::replace(text, '_', ' ');
    return {std::move(text), outcome == "failed" ? Paint::red : Paint::yellow};
}

std::string arrival_of(const json::object& job, std::string_view today) {
    const std::string time = time_text(text_of(job, "arrived"));
    const bool is_today = !today.empty() && time.starts_with(today) && time.size() > today.size();
    return is_today ? time.substr(today.size() + 1) : time;
}

std::vector<Cell> ended_row(const json::object& job, std::string_view today) {
    const bool ran = text_of(job, "attempts") != "0";
    const std::string id = text_of(job, "id");
    return {{id.empty() ? "-" : id},
            {pool_of(job)},
            {arrival_of(job, today)},
            {span_of(job, "queue_ms")},
            {ran ? span_of(job, "run_ms") : ""},
            {text_of(job, "lane")},
            {text_of(job, "attempts")},
            {request_of(job)},
            {text_of(job, "status")},
            outcome_of(job),
            {client_of(job)}};
}

Table ended_of(const JobsPage& page, const json::array& jobs) {
    Table table{.columns = {{"ENDED JOB"},
                            {"POOL"},
                            {"ARRIVED", right},
                            {"QUEUED", right, 0, "0 s"},
                            {"RAN", right},
                            {"LANE", right},
                            {"TRIES", right, 0, "1"},
                            {"REQUEST", left, 12},
                            {"STATUS", right},
                            {"OUTCOME", left, 10},
                            {"CLIENT"}},
                .rows = {}};
    for (std::size_t i = 0; i < std::min(page.last, jobs.size()); ++i)
        table.rows.push_back(ended_row(object_of(jobs[i]), page.today));
    return without_empty_columns(table);
}

}  // namespace

std::expected<std::string, std::string> jobs_text(const JobsPage& jobs, TextStyle style) {
    const auto page = parse_facts(jobs.json);
    if (!page) return std::unexpected(page.error());
    const std::string live = text_of(live_of(list_of(*page, "live")), style);
    const std::string ended = text_of(ended_of(jobs, list_of(*page, "ended")), style);
    return (live.empty() ? "no live jobs\n" : live) + (ended.empty() ? "" : "\n" + ended);
}

int run(const JobsCommand& command) {
    const auto got = ask_gate(command.gate, {.target = "/-/jobs"});
    if (!got) return complain(got.error());
    if (command.json) return print(got->answer.body);
    const std::string today =
        fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::now()));
    const auto text = jobs_text({.json = got->answer.body, .last = command.last, .today = today},
                                {.colours = wants_colours(), .columns = stdout_columns()});
    return text ? print(*text) : complain(text.error());
}

}  // namespace turnpike
