// Stimuli: what happens to the engine's world, in self-contained pieces. A stimulus is a job with
// everything that will happen to it, a curse (a fault that lasts for a while on a lane), a blow (a
// fault of one moment), an order of the operator, a reload, a shutdown, or a fault of the shell. A
// run is its settings and a list of stimuli; a shrunken run has fewer of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "base/time.h"
#include "core/event.h"
#include "core/words.h"

namespace turnpike::sim {

/// How an attempt of the job ends, unless a curse decides otherwise.
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
    never_arrives,  // no link to the worker could be made
    dumps_core,     // the link breaks, and the worker exits some time later
    goes_stale,     // a reused connection ends before any byte; only workers that speak HTTP
    falls_short,    // the gate can't send the job, or can't take its answer
};
inline constexpr std::size_t endings = 14;

/// One client's job: what the client does, and what the job does to its worker.
struct JobScript {
    PoolId pool{};
    PoolId routed_to{};  // the pool that its body names; mostly `pool`
    ClientId client{0};
    ClientLimits limits{};
    Bytes declared{};
    Bytes total{};
    /// Jobs of equal content are the same request: they have the same bytes and do the same to a
    /// worker. 0 means that no other job has this content.
    std::uint32_t content = 0;
    std::uint32_t chunks = 0;  // how often BodyGrew comes before the body is complete
    Duration upload = Duration::zero();
    bool stalls = false;  // the body never completes; `leaves_after` is then set
    Priority priority{};
    Duration timeout = Duration::max();
    LaneId lane_wanted{};
    bool is_aside = false;
    Duration run = 10ms;
    Ending ending = Ending::answers;
    std::uint32_t ending_times = 1;  // this many attempts end this way; later ones answer
    std::uint32_t stream_parts = 0;  // 0 if the answer comes in one piece
    bool ignores_cancel = false;
    /// While the job runs, even after its exchange was closed, its worker does nothing else: it
    /// answers no probe, and other jobs aboard wait.
    bool blocks = false;
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
    fails_everything,  // each job, at once
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
    away,           // an attached worker is not there
    kills_all,      // each job kills its worker
    link_stale,     // reused connections end before any byte of an answer
    gate_is_short,  // the gate can't start the worker, send it a job or a probe
};
inline constexpr std::size_t curse_kinds = 25;

/// A fault that lasts for a while on one lane.
struct Curse {
    LaneId lane{};
    CurseKind kind = CurseKind::start_fails;
    Duration lasts = 1s;
    std::uint32_t percent = 100;  // of the things that it could strike
};

enum class BlowKind : std::uint8_t { crash, crash_pool, misbehave, memory_freed };
inline constexpr std::size_t blow_kinds = 4;

/// A fault of one moment.
struct Blow {
    LaneId lane{};
    BlowKind kind = BlowKind::crash;
};

enum class OrderKind : std::uint8_t { drain, resume, restart, restart_twice, prove };
inline constexpr std::size_t order_kinds = 5;

struct Order {
    LaneId lane{};  // for `prove`: a lane of the pool
    OrderKind kind = OrderKind::drain;
};

/// How good a new generation is. A bad one stays bad, except that `crashes` ends with the faults.
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

/// For a while the shell repeats events at once or much later, delivers ends late, and wakes late.
struct ShellFault {
    Duration lasts = 1s;
    std::uint32_t twice = 0;              // percent of events
    std::uint32_t again = 0;              // percent of events: a copy comes much later
    std::uint32_t delayed = 0;            // percent of ends
    Duration lag_max = Duration::zero();  // of TimePassed
};

using Payload = std::variant<JobScript, Curse, Blow, Order, Reload, Shutdown, ShellFault>;

struct Stimulus {
    std::uint32_t id = 0;  // its index in the whole plan; stays the same if others are left out
    Duration at = Duration::zero();  // from the opening
    Payload payload{};
};

std::string_view name_of(Ending);
std::string_view name_of(CurseKind);
std::string_view name_of(BlowKind);
std::string_view name_of(OrderKind);
std::string_view name_of(Quality);

/// Returns one line for a trace.
[[nodiscard]] std::string describe(const Stimulus& stimulus);

}  // namespace turnpike::sim
