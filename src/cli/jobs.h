// `turnpike jobs`: shows the gate's /-/jobs to people.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "terminal/table.h"

namespace turnpike {

struct JobsPage {
    std::string_view json;  // what /-/jobs answered
    std::size_t last = 20;  // how many ended jobs are shown
    // "2026-11-15", in UTC. Jobs that arrived on this day are shown with the time only.
    std::string_view today = {};
};

/// Returns a table of the live jobs and a table of the jobs that ended last, newest first. Leaves
/// out columns that tell nothing: the pool if all are "default", the client if all are on this
/// machine.
[[nodiscard]] std::expected<std::string, std::string> jobs_text(const JobsPage&, TextStyle);

}  // namespace turnpike
