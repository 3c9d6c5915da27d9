// The part of reloads that the engine does not decide: which number a new generation gets, whether
// its workers may start beside the old ones, what is known about the latest reload, and which saved
// files start one.
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

/// Returns how a pool with these lanes would switch to new code now.
[[nodiscard]] ReloadKind reload_kind(const PoolConfig& pool,
                                     const std::vector<const LaneFacts*>& lanes);

struct ReloadDeps {
    boost::asio::io_context& loop;
    Background& disk;
    Clock& clock;
    const std::vector<PoolConfig>& config;
    const std::vector<std::size_t> pool_of;  // by lane
    std::vector<LaneFacts>& lanes;
    std::vector<PoolFacts>& pools;
    Generations& generations;
    std::function<const LaneLog*(std::size_t)> log_of;  // by lane; nullptr if it has no log
    /// Accepts this generation's answers as right, even if another answer is recorded.
    std::function<void(PoolId, Generation)> accepted;
    std::function<void(const Event&)> deliver;
};

class Reloads {
public:
    explicit Reloads(ReloadDeps deps);

    /// Starts a reload. Returns an error message if Turnpike did not start the pool's workers.
    std::expected<ReloadBegun, std::string> ask(std::size_t pool, ReloadOrder order);

    void observe(const StartWorker& start);
    void observe(const ReportLane& report);
    void observe(const ReportReload& report);
    /// Must be called now and then, because the files to watch change as workers import more.
    void look();

    /// Returns a message for people: "pool default: watches 3 files: a save reloads it". Returns
    /// each message only once. Empty if there is nothing new.
    [[nodiscard]] std::string watch_news();
    /// Returns why some file is not watched. Empty if all are watched.
    [[nodiscard]] std::string watch_problem() const;

private:
    struct Tried {
        std::size_t lane = 0;
        WorkerId worker;
    };
    struct Pool {
        Generation good{1};
        std::vector<Tried> tried;  // the workers of the latest reload
        bool is_spread = false;    // no old worker is left, but some new ones are still coming up
        std::unique_ptr<SourceWatch> watch;  // nullptr if the pool does not watch files
    };

    /// True if each of the pool's lanes serves or is off.
    [[nodiscard]] bool is_up(std::size_t pool) const;
    void finish(std::size_t pool, ReloadEnd end);
    [[nodiscard]] std::string trouble_of(std::size_t pool) const;
    [[nodiscard]] std::vector<const LaneFacts*> lanes_of(std::size_t pool) const;

    ReloadDeps deps_;
    std::vector<Pool> pools_;
    std::vector<LaneState> states_;  // by lane
};

}  // namespace turnpike
