#include "app/jobs.h"

#include <algorithm>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "app/command.h"
#include "app/environment.h"
#include "app/facts.h"
#include "app/print.h"
#include "app/running_gate.h"

namespace turnpike {
namespace {

namespace json = boost::json;
using enum Column::Side;

std::string request_of(const json::object& job) {
    return text_of(job, "method") + ' ' + text_of(job, "path");
}

Table live_of(const json::array& jobs) {
    Table table{.columns = {{"LIVE JOB"},
                            {"POOL"},
                            {"STATE"},
                            {"FOR", right},
                            {"LANE", right},
                            {"ATTEMPTS", right},
                            {"CLIENT"},
                            {"REQUEST"}},
                .rows = {}};
    for (const json::value& value : jobs) {
        const json::object& job = object_of(value);
        const std::string state = text_of(job, "state");
        table.rows.push_back({{text_of(job, "id")},
                              {text_of(job, "pool")},
                              {state, state == "running" ? Paint::green : Paint::plain},
                              {span_of(job, "since_s")},
                              {text_of(job, "lane")},
                              {text_of(job, "attempts")},
                              {text_of(job, "client")},
                              {request_of(job)}});
    }
    return table;
}

/// "finished", or what happened and why: "timed out: waited too long"
Cell outcome_of(const json::object& job) {
    std::string outcome = text_of(job, "outcome");
    if (outcome == "finished") return {std::move(outcome), Paint::green};
    std::string text = outcome + ": " + text_of(job, "reason");
    std::ranges::replace(text, '_', ' ');
    return {std::move(text), outcome == "failed" ? Paint::red : Paint::yellow};
}

Table ended_of(const json::array& jobs, std::size_t last) {
    Table table{.columns = {{"ENDED JOB"},
                            {"POOL"},
                            {"ARRIVED"},
                            {"QUEUED", right},
                            {"RAN", right},
                            {"LANE", right},
                            {"ATTEMPTS", right},
                            {"CLIENT"},
                            {"REQUEST"},
                            {"STATUS", right},
                            {"OUTCOME"}},
                .rows = {}};
    for (std::size_t i = 0; i < std::min(last, jobs.size()); ++i) {
        const json::object& job = object_of(jobs[i]);
        const bool ran = text_of(job, "attempts") != "0";
        table.rows.push_back({{text_of(job, "id")},
                              {text_of(job, "pool")},
                              {second_of(text_of(job, "arrived"))},
                              {span_of(job, "queue_ms")},
                              {ran ? span_of(job, "run_ms") : ""},
                              {text_of(job, "lane")},
                              {text_of(job, "attempts")},
                              {text_of(job, "client")},
                              {request_of(job)},
                              {text_of(job, "status")},
                              outcome_of(job)});
    }
    return table;
}

}  // namespace

std::expected<std::string, std::string> jobs_text(const JobsPage& jobs, Look look) {
    const auto page = parse_facts(jobs.json);
    if (!page) return std::unexpected(page.error());
    const std::string live = text_of(live_of(list_of(*page, "live")), look);
    const std::string ended = text_of(ended_of(list_of(*page, "ended"), jobs.last), look);
    return (live.empty() ? "no live jobs\n" : live) + (ended.empty() ? "" : "\n" + ended);
}

int run(const JobsCommand& command) {
    const auto got = ask_gate(command.gate, {.target = "/-/jobs"});
    if (!got) return complain(got.error().message, got.error().exit_code);
    if (command.json) return print(got->answer.body);
    const auto text =
        jobs_text({.json = got->answer.body, .last = command.last}, {.colours = wants_colours()});
    return text ? print(*text) : complain(text.error());
}

}  // namespace turnpike
