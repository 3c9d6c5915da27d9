// The faults of a run. They are drawn close to the start, to each other and to arrivals of jobs,
// because a fault finds most bugs in the middle of something.
#include <algorithm>

#include "sim/chance.h"
#include "sim/plan.h"

namespace turnpike::sim {

namespace {

class Faults {
public:
    Faults(const Scenario& scenario, Random random, Plan& plan)
        : scenario_(scenario), random_(random), plan_(plan) {}

    void add() {
        repeat(scenario_.curses_max, [&] { add_curse(); });
        repeat(scenario_.blows_max, [&] { add_blow(); });
        repeat(scenario_.orders_max, [&] { add_order(); });
        repeat(scenario_.reloads_max, [&] { add_reload(); });
        repeat(scenario_.shell_max, [&] { add_shell_fault(); });
        if (random_.chance(scenario_.shutdowns)) add_shutdown();
    }

private:
    template <class Add>
    void repeat(std::uint32_t most, Add add_one) {
        if (most == 0) return;
        for (auto left = random_.between(1, most); left > 0; --left) add_one();
    }

    template <class Kind>
    Kind draw_kind(Among<Kind> among, std::size_t kinds) {
        for (;;) {
            const auto kind = static_cast<Kind>(random_.below(kinds));
            if (among.has(kind)) return kind;
        }
    }

    LaneId draw_lane() { return LaneId{random_.below(plan_.lanes())}; }

    Duration draw_time() {
        const auto luck = random_.below(10);
        if (luck < 2) return between(random_, 0ms, 3s);
        if (luck < 7 && !plan_.stimuli.empty()) {
            const Duration near = plan_.stimuli[random_.below(plan_.stimuli.size())].at;
            const Duration by = between(random_, 0ms, luck < 4 ? 20ms : 1500ms);
            return std::min(near + by, plan_.calm_at - quiet_before_calm);
        }
        return between(random_, 0ms, plan_.calm_at - quiet_before_calm);
    }

    Duration draw_length() {
        return between(random_, 100ms, random_.chance(30) ? plan_.calm_at : 10s);
    }

    void add_at(Duration at, Payload payload) {
        plan_.stimuli.push_back({.at = at, .payload = payload});
    }

    void add_curse() {
        Curse curse;
        curse.kind = draw_kind(scenario_.curses, curse_kinds);
        curse.lane = draw_lane();
        curse.lasts = draw_length();
        if (random_.chance(30)) curse.percent = static_cast<std::uint32_t>(random_.between(20, 90));
        if (curse.kind == CurseKind::kills_all) {
            curse.percent = 100;
            if (random_.chance(50)) curse.lasts = plan_.calm_at;
        }
        const Duration at = random_.chance(20) ? 0ms : draw_time();
        add_at(at, curse);
        if (!random_.chance(15)) return;  // sometimes it strikes all lanes
        for (std::uint64_t lane = 0; lane < plan_.lanes(); ++lane) {
            if (LaneId{lane} == curse.lane) continue;
            Curse also = curse;
            also.lane = LaneId{lane};
            add_at(at, also);
        }
    }

    void add_blow() {
        const BlowKind kind = draw_kind(scenario_.blows, blow_kinds);
        const LaneId lane = draw_lane();
        add_at(draw_time(), Blow{.lane = lane, .kind = kind});
    }

    void add_order() {
        const OrderKind kind = draw_kind(scenario_.orders, order_kinds);
        const LaneId lane = draw_lane();
        const Duration at = draw_time();
        add_at(at, Order{.lane = lane, .kind = kind});
        if (kind != OrderKind::drain || !random_.chance(70)) return;
        const Duration back = at + between(random_, 0ms, random_.chance(50) ? 500ms : 10s);
        if (back <= plan_.calm_at - quiet_before_calm)
            add_at(back, Order{.lane = lane, .kind = OrderKind::resume});
    }

    void add_reload() {
        Reload reload{.pool = PoolId{random_.below(plan_.settings.pools.size())}};
        if (random_.chance(50)) reload.quality = static_cast<Quality>(random_.below(qualities));
        reload.kind = draw_reload_kind(reload.pool);
        const Duration at = draw_time();
        add_at(at, reload);
        repeat(scenario_.saves_max, [&] { save_again(at, reload.pool); });
    }

    void save_again(Duration after, PoolId pool) {
        Reload reload{.pool = pool, .kind = draw_reload_kind(pool)};
        if (random_.chance(40)) reload.quality = static_cast<Quality>(random_.below(qualities));
        const Duration at = after + between(random_, 0ms, random_.chance(50) ? 100ms : 2s);
        if (at <= plan_.calm_at - quiet_before_calm) add_at(at, reload);
    }

    /// Returns the usual kind of the pool in 80 % of the draws, otherwise the other kind.
    ReloadKind draw_reload_kind(PoolId pool) const {
        const ReloadKind usual = plan_.reload_kinds[pool.value];
        const ReloadKind other =
            usual == ReloadKind::beside ? ReloadKind::in_place : ReloadKind::beside;
        return random_of(plan_.seed, Topic::reload, plan_.stimuli.size()).chance(20) ? other
                                                                                     : usual;
    }

    void add_shell_fault() {
        ShellFault fault{.lasts = draw_length()};
        fault.twice = static_cast<std::uint32_t>(random_.between(0, 40));
        fault.again = static_cast<std::uint32_t>(random_.between(0, 30));
        fault.delayed = static_cast<std::uint32_t>(random_.between(0, 30));
        if (random_.chance(30)) fault.lag_max = between(random_, 1ms, 50ms);
        add_at(draw_time(), fault);
    }

    void add_shutdown() {
        const Duration patience = random_.chance(20) ? 0ms : between(random_, 1ms, 20s);
        const Duration at = between(random_, 1ms, plan_.calm_at - quiet_before_calm);
        add_at(at, Shutdown{.patience = patience});
        if (!random_.chance(40)) return;
        const Duration again = at + between(random_, 0ms, 5s);
        const Duration second_patience = random_.chance(50) ? 0ms : between(random_, 1ms, 20s);
        if (again <= plan_.calm_at - quiet_before_calm)
            add_at(again, Shutdown{.patience = second_patience});
    }

    const Scenario& scenario_;
    Random random_;
    Plan& plan_;
};

}  // namespace

void add_faults(const Scenario& scenario, Random random, Plan& plan) {
    Faults(scenario, random, plan).add();
}

}  // namespace turnpike::sim
