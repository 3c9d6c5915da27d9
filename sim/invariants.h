// What must always hold, judged from outside. This is an independent oracle: it keeps its own
// ledger of events and actions, derives from docs/engine.md what the engine may do and must do, and
// compares that with what the engine did. Of the engine itself it sees only the view.
//
//   Invariants invariants(settings);
//   engine.handle(event, now, actions);
//   invariants.observe(event, now, actions, engine);
//   if (invariants.violation()) …
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "core/action.h"
#include "core/engine.h"
#include "core/event.h"
#include "core/settings.h"
#include "core/view.h"

namespace turnpike::sim {

/// The invariants. Each is the sentence that a violation shows.
namespace invariant {
inline constexpr std::string_view one_answer =
    "every accepted job gets exactly one answer, for a true reason";
inline constexpr std::string_view capacity =
    "a lane never holds more than slots × batch jobs, nor gets any while it does not serve";
inline constexpr std::string_view no_idle =
    "no lane has a free slot while a job that it could take waits";
inline constexpr std::string_view alone = "a lane reserved for a lone ride takes nothing else";
inline constexpr std::string_view order =
    "jobs leave the queue in their order, and only for the lane they want";
inline constexpr std::string_view placement =
    "a job goes to the lane with most free slots, then to the longest idle";
inline constexpr std::string_view in_time = "no job starves or outlives its time";
inline constexpr std::string_view one_owner =
    "an attempt has one owner, and a job one attempt at a time";
inline constexpr std::string_view blame =
    "poison never runs again, and innocent neighbours are never blamed";
inline constexpr std::string_view failing_lane =
    "a lane that fails everything does not swallow the queue";
inline constexpr std::string_view bounds = "the bounds of every queue hold";
inline constexpr std::string_view proof = "nothing that failed its proof ever gets a job";
inline constexpr std::string_view calm =
    "after a calm time every lane that can serve does, and nothing waits";
inline constexpr std::string_view counts = "counters and states agree";
inline constexpr std::string_view off = "a drained, failed or quarantined lane gets nothing";
inline constexpr std::string_view restart = "restarts keep their pace and their limit";
inline constexpr std::string_view clock = "every wait ends in time";
inline constexpr std::string_view ending =
    "nothing is asked of a worker that is ending, and none is ended without cause";
inline constexpr std::string_view cancel = "cancelling follows the policy of the pool";
inline constexpr std::string_view agreement = "a lane outside a strict majority leaves";
inline constexpr std::string_view refusal = "a job is refused only for a true reason";
inline constexpr std::string_view shutdown =
    "nothing is admitted after shutdown, and the end comes once, when all is over";
inline constexpr std::string_view slow = "slow jobs are reported once, and only if slow";
inline constexpr std::string_view reload =
    "a generation is good only after one of its workers has served";
inline constexpr std::string_view health =
    "idle workers are probed, and proofs come when they are due";
inline constexpr std::string_view justice =
    "no number of poison jobs keeps a lane away for longer than its restart";
inline constexpr std::string_view abandoned =
    "an abandoned attempt holds a lane no longer than its bound allows";
inline constexpr std::string_view leavers =
    "a worker is ended because its clients left only by the rule for abandoned attempts, and its "
    "lane is charged for nothing";
inline constexpr std::string_view sent_once =
    "nothing that may have reached a worker is sent twice under `retry = false`";
inline constexpr std::string_view known_poison =
    "a job that equals a known poison does not run, and no other job is taken for one";
inline constexpr std::string_view revival =
    "a failed lane tries again in time, and the last lane that has served does not fail";

inline constexpr std::string_view turns =
    "a client with work waiting gets its turn within one round of its level";
inline constexpr std::string_view shares =
    "nobody is refused for what others have below nine tenths of the whole";
inline constexpr std::string_view room =
    "an upload ends for lack of room only if a body does not fit, and as the slowest of the client "
    "that holds most";
inline constexpr std::string_view suspicion =
    "jobs of a client that sent poison again and again ride alone, at their turn, and no others do";

inline constexpr std::array all = {
    one_answer, capacity,     no_idle,      alone,  order,   placement, in_time,
    one_owner,  blame,        failing_lane, bounds, proof,   calm,      counts,
    off,        restart,      clock,        ending, cancel,  agreement, refusal,
    shutdown,   slow,         reload,       health, justice, abandoned, leavers,
    sent_once,  known_poison, revival,      turns,  shares,  room,      suspicion};
}  // namespace invariant

struct Violation {
    std::string invariant;  // one of `invariant::all`
    std::string detail;
};

/// Whether the operator has revived all lanes that were off. If so, every lane must be ready.
enum class Healed : bool { no, yes };

struct Ledger;

class Invariants {
public:
    explicit Invariants(const Settings& settings);
    ~Invariants();
    Invariants(Invariants&&) noexcept;
    Invariants& operator=(Invariants&&) noexcept;

    /// Must be called after each engine.handle(), with the event, the actions that it appended, and
    /// the engine.
    void observe(const Event& event, Instant now, std::span<const Action> appended,
                 const Engine& engine);
    /// Checks what must hold when nothing has gone wrong for a long time.
    void check_calm(Instant now, const Engine& engine, Healed healed);

    /// The same, with a view in place of the engine, so that tests can tamper with it.
    void observe(const Event& event, Instant now, std::span<const Action> appended,
                 const View& view, Instant next_deadline);
    void check_calm(Instant now, const View& view, Healed healed);

    /// Returns the first violation. Later ones are not recorded.
    [[nodiscard]] const std::optional<Violation>& violation() const;

private:
    std::unique_ptr<Ledger> ledger_;
};

}  // namespace turnpike::sim
