// What is done to the engine's world, one self-contained piece at a time: a job with its whole
// fate, a curse on a lane, a blow, an order of the operator, a spell of bad luck in the shell. A
// run is settings and a list of these; a shrunken run is the same with fewer of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "base/time.h"
#include "core/words.h"

namespace turnpike::sim {

/// How an attempt of the job ends, where no curse decides otherwise.
enum class Ending : std::uint8_t {
    answers,
    bad_input,
    fails,
    non_finite,
    out_of_memory,
    unhealthy,
    breaks_link,
    kills_worker,
    misbehaves,  // the worker breaks the protocol while it has the job
    hangs,
    never_arrives,  // no link could be made
};

/// One client's job, from its first byte to what it does to its worker.
struct JobScript {
    PoolId pool{};
    PoolId routed_to{};  // what its body will say; mostly `pool`
    Bytes declared{};
    Bytes total{};
    std::uint32_t chunks = 0;  // BodyGrew this often before it is complete
    Duration upload = Duration::zero();
    bool stalls = false;  // the body never completes; `leaves_after` is then set
    Priority priority{};
    Duration timeout = Duration::max();
    LaneId lane_wanted{};
    bool aside = false;
    Duration run = 10ms;
    Ending ending = Ending::answers;
    std::uint32_t ending_times = 1;  // attempts that end so; later ones answer
    std::uint32_t stream_parts = 0;  // 0: the answer comes whole
    bool ignores_cancel = false;
    Duration leaves_after = Duration::max();   // from arrival
    Duration deleted_after = Duration::max();  // from arrival
};

enum class CurseKind : std::uint8_t {
    start_fails,
    load_slow,
    load_silent,
    load_exits,
    proof_wrong,
    proof_silent,
    proof_disagrees,
    fails_everything,  // at once, each job
    runs_out_of_memory,
    hangs,
    crashes,  // each job may kill its worker
    answers_twice,
    answers_after_death,
    answers_for_another,
    link_silent,
    probe_refused,
    link_breaks,
    ignores_stop,
    survives_kill,
    memory_held,
    gpu_gone,
    away,  // of attached workers: nobody there
};
inline constexpr std::size_t curse_kinds = 22;

struct Curse {
    LaneId lane{};
    CurseKind kind = CurseKind::start_fails;
    Duration lasts = 1s;
    std::uint32_t percent = 100;  // of what it could strike
};

enum class BlowKind : std::uint8_t { crash, crash_pool, misbehave, memory_freed };
inline constexpr std::size_t blow_kinds = 4;

struct Blow {
    LaneId lane{};
    BlowKind kind = BlowKind::crash;
};

enum class OrderKind : std::uint8_t { drain, resume, restart, restart_twice, prove };
inline constexpr std::size_t order_kinds = 5;

struct Order {
    LaneId lane{};  // `prove`: its pool
    OrderKind kind = OrderKind::drain;
};

/// What a new generation is worth. Bad ones are bad for ever, except that `crashes` ends with the
/// faults.
enum class Quality : std::uint8_t { good, unloadable, silent_load, wrong_proof, crashes };
inline constexpr std::size_t qualities = 5;

struct Reload {
    PoolId pool{};
    Quality quality = Quality::good;
    ReloadKind kind = ReloadKind::beside;
};

struct Shutdown {
    Duration patience = Duration::zero();
};

/// The shell repeats events at once, repeats them late, delivers ends late, and wakes too early or
/// too late.
struct ShellFault {
    Duration lasts = 1s;
    std::uint32_t twice = 0;              // percent of events
    std::uint32_t again = 0;              // percent: a copy much later
    std::uint32_t delayed = 0;            // percent of ends
    Duration lag_max = Duration::zero();  // of TimePassed
};

using Payload = std::variant<JobScript, Curse, Blow, Order, Reload, Shutdown, ShellFault>;

struct Stimulus {
    std::uint32_t id = 0;            // its place in the whole plan, also when others are left out
    Duration at = Duration::zero();  // from the opening
    Payload payload{};
};

std::string_view name_of(Ending);
std::string_view name_of(CurseKind);
std::string_view name_of(BlowKind);
std::string_view name_of(OrderKind);
std::string_view name_of(Quality);

/// One line for a trace.
[[nodiscard]] std::string describe(const Stimulus& stimulus);

}  // namespace turnpike::sim
