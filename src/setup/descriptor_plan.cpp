#include "setup/descriptor_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/bytes.h"
#include "gate/gate.h"
#include "os/limits.h"

namespace turnpike {
namespace {

constexpr std::uint64_t files_of_gate = 48;  // threads, timers, listeners, logs
constexpr std::uint64_t files_in_reserve =
    24;  // one start at a time, the command line, looking at /proc
constexpr std::uint64_t files_per_lane = 2;    // log, health check
constexpr std::uint64_t files_per_worker = 7;  // output, guard, socket, addresses
constexpr std::uint64_t files_per_gpu = 8;
constexpr std::uint64_t files_per_pool = 6;
constexpr std::uint64_t clients_min = 8;
constexpr std::uint64_t answers_in_files_max = 2048;    // each is larger than a MiB
constexpr std::uint64_t spooled_from = mebibyte.count;  // smaller bodies stay in memory

std::uint64_t fixed_files(const DescriptorNeeds& needs) {
    return needs.open + files_of_gate + files_in_reserve + needs.command_lines +
           needs.lanes * files_per_lane + needs.workers * files_per_worker +
           needs.gpus * files_per_gpu + needs.pools * files_per_pool;
}

/// Returns how many workers of a lane may run at once. Those that somebody else started need nothing
/// but links.
std::uint64_t workers_of_lane(const PoolConfig& pool) {
    if (!pool.is_started()) return 0;
    return pool.worker.reload == ReloadChoice::in_place ? 1 : 2;
}

/// Returns how many descriptors so many clients may need: a socket each; a file for the body, one
/// for the answer and a link, of which there can only be so many.
std::uint64_t files_for(std::uint64_t clients, const DescriptorNeeds& needs) {
    return clients + std::min(clients, needs.bodies_max) + std::min(clients, needs.answers_max) +
           std::min(clients, needs.links_max);
}

}  // namespace

std::expected<std::uint32_t, std::string> connections_for(const DescriptorNeeds& needs) {
    const std::uint64_t fixed = fixed_files(needs);
    const std::uint64_t least = fixed + files_for(clients_min, needs);
    if (needs.limit < least)
        return std::unexpected(
            fmt::format("only {} open files are allowed (ulimit -n), but this gate needs at least "
                        "{}: raise the limit (ulimit -n {}, or LimitNOFILE= of its service)",
                        needs.limit, least, least));
    std::uint64_t fits = clients_min;
    std::uint64_t too_many = needs.wanted + 1;
    while (fits + 1 < too_many) {
        const std::uint64_t middle = fits + (too_many - fits) / 2;
        (fixed + files_for(middle, needs) <= needs.limit ? fits : too_many) = middle;
    }
    return static_cast<std::uint32_t>(std::min(fits, needs.wanted));
}

DescriptorNeeds descriptor_needs(const Config& config, std::uint64_t lanes, std::uint64_t gpus,
                                 std::uint64_t limit) {
    DescriptorNeeds needs{.limit = limit,
                          .open = count_open_files(),
                          .lanes = lanes,
                          .gpus = gpus,
                          .pools = config.pools.size(),
                          .bodies_max = config.bytes_max.count / spooled_from,
                          .answers_max = answers_in_files_max,
                          .command_lines = Gate::command_lines_max,
                          .wanted = config.gate.connections_max};
    for (const PoolConfig& pool : config.pools) {
        const std::uint64_t asides = pool.aside.empty() ? 0 : pool.settings.aside_max;
        const std::uint64_t of_pool = pool.settings.lanes;
        needs.links_max += of_pool * (pool.settings.slots + asides);
        needs.workers += of_pool * workers_of_lane(pool);
    }
    return needs;
}

}  // namespace turnpike
