// What people call a job: its id as 13 letters and digits. Ids are dense and start anew with each
// `up`, so they are scrambled with a secret of the run: names don't repeat, can't be guessed, and
// lead back to the id without a table.
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
    /// Nothing if it is no name at all; whether there is such a job is another question.
    [[nodiscard]] std::optional<JobId> find(std::string_view name) const;

private:
    std::uint64_t secret_;
};

}  // namespace turnpike
