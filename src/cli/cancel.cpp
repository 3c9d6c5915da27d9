#include "cli/cancel.h"

#include <algorithm>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/running_gate.h"
#include "terminal/facts.h"
#include "terminal/safe_text.h"

namespace turnpike {
namespace {

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

}  // namespace

bool could_be_job_id(std::string_view word) {
    constexpr std::size_t size_max = 64;
    return !word.empty() && word.size() <= size_max && std::ranges::all_of(word, is_plain);
}

std::expected<std::string, std::string> cancel_text(std::string_view job, std::string_view json) {
    const auto page = parse_facts(json);
    if (!page) return std::unexpected(page.error());
    if (is_true(*page, "cancelled")) return fmt::format("job {} is cancelled\n", job);
    return fmt::format("job {} was not cancelled: {}\n", job, text_of(*page, "why"));
}

int run(const CancelCommand& command) {
    if (!could_be_job_id(command.job))
        return complain(
            fmt::format("\"{}\" is not the id of a job; list the jobs with: turnpike jobs",
                        sanitized(command.job)));
    const auto got = ask_gate(
        command.gate, {.method = http::Method::delete_, .target = "/-/jobs/" + command.job});
    if (!got) return complain(got.error());
    if (command.json) return print(got->answer.body);
    const auto text = cancel_text(command.job, got->answer.body);
    return text ? print(*text) : complain(text.error());
}

}  // namespace turnpike
