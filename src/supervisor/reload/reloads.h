// Reloads, around the engine's decisions: which number a new generation has, whether it may start beside
// the old one, what is known of the latest one, and which saves ask for one by themselves.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "config/config.h"
#include "core/action.h"
#include "core/event.h"
#include "os/background.h"
#include "os/clock.h"
#include "supervisor/reload/generations.h"
#include "supervisor/reload/source_watch.h"
#include "telemetry/lane_facts.h"
#include "telemetry/lane_log.h"
#include "telemetry/pool_facts.h"

namespace turnpike {

/// How the lanes of this pool would go over to new code now. `lanes`: its own.
[[nodiscard]] ReloadKind reload_kind(const PoolConfig& pool,
                                     const std::vector<const LaneFacts*>& lanes);

struct ReloadDeps {
    boost::asio::io_context& loop;
    Background& disk;
    Clock& clock;
    const std::vector<PoolConfig>& config;
    const std::vector<std::size_t> pool_of;  // of each lane
    std::vector<LaneFacts>& lanes;
    std::vector<PoolFacts>& pools;
    Generations& generations;
    std::function<const LaneLog*(std::size_t)> log_of;  // of a lane
    /// What this generation answers is right, whatever was recorded.
    std::function<void(PoolId, Generation)> accepted;
    std::function<void(const Event&)> deliver;
};

class Reloads {
public:
    explicit Reloads(ReloadDeps deps);

    /// An error is a sentence: its workers are not ours.
    std::expected<ReloadBegun, std::string> ask(std::size_t pool, ReloadOrder order);

    void note(const StartWorker& start);
    void note(const ReportLane& report);
    void note(const ReportReload& report);
    /// Called now and then: what is watched changes as workers import.
    void look();

    /// For people, once: "pool default: 3 files are watched"; empty: nothing new.
    [[nodiscard]] std::string watch_news();
    /// Why something is not watched; empty: all is.
    [[nodiscard]] std::string watch_problem() const;

private:
    struct Tried {
        std::size_t lane = 0;
        WorkerId worker;
    };
    struct Pool {
        Generation good{1};
        std::vector<Tried> tried;            // the workers of the latest reload
        bool is_spread = false;              // no old worker is left, but some new ones come up
        std::unique_ptr<SourceWatch> watch;  // nullptr: nothing is watched
    };

    /// Whether each of its lanes serves, or is off.
    [[nodiscard]] bool is_up(std::size_t pool) const;
    void finish(std::size_t pool, ReloadEnd end);
    [[nodiscard]] std::string trouble_of(std::size_t pool) const;
    [[nodiscard]] std::vector<const LaneFacts*> lanes_of(std::size_t pool) const;

    /// Lanes whose only fault is that the old code answered wrong, in a pool without a lane that could try the new one.
    [[nodiscard]] std::vector<LaneId> lanes_off_for_wrong_answers(std::size_t pool) const;

    ReloadDeps deps_;
    std::vector<Pool> pools_;
    struct Standing {
        LaneState state{};
        Reason reason = Reason::none;
    };
    std::vector<Standing> standings_;  // of the lanes
};

}  // namespace turnpike
