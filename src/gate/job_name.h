// The names of jobs that people see: a job's id as 13 letters and digits. Ids are dense and start
// again at each `up`. So we scramble them with a secret of this run. Then names don't repeat, can't
// be guessed, and can be turned back into ids without a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "core/words.h"

namespace turnpike {

class JobNames {
public:
    explicit JobNames(std::uint64_t secret) : secret_(secret) {}

    [[nodiscard]] Text<24> name_of(JobId job) const;
    /// Returns the id, or nullopt if the text cannot be a name. There may be no job with that id.
    [[nodiscard]] std::optional<JobId> find(std::string_view name) const;

private:
    std::uint64_t secret_;
};

}  // namespace turnpike
