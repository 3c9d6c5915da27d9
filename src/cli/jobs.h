// `turnpike jobs`: the gate's /-/jobs for people.
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
    std::string_view today =
        {};  // "2026-11-15", in UTC: of those that came then, the time is shown
};

/// A table of the live jobs, a table of the last that ended, newest first. Columns that say nothing
/// are left out: the only pool, clients on this machine.
[[nodiscard]] std::expected<std::string, std::string> jobs_text(const JobsPage&, TextStyle);

}  // namespace turnpike
