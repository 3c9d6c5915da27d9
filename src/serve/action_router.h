// Passes each action to the part that carries it out, and to the parts that take note of it.
//
// There is one overload for each kind of action and no catch-all, so a new action that is not
// routed here does not compile.
#pragma once

#include <functional>
#include <utility>
#include <variant>

#include "core/action.h"
#include "gate/gate.h"
#include "serve/terminal_reporter.h"
#include "supervisor/supervisor.h"

namespace turnpike {

class ActionRouter {
public:
    /// `leave` is called when the engine has nothing more to do and the server may end.
    ActionRouter(Gate& gate, Supervisor& supervisor, TerminalReporter& reporter,
                 std::function<void()> leave)
        : gate_(gate), supervisor_(supervisor), reporter_(reporter), leave_(std::move(leave)) {}

    void carry_out(const Action& action) { std::visit(*this, action); }

    // To clients.
    void operator()(const AdmitJob& action) { gate_.carry_out(action); }
    void operator()(const RefuseJob& action) { gate_.carry_out(action); }
    void operator()(const HashJob& action) { gate_.carry_out(action); }
    void operator()(const EndJob& action) { gate_.carry_out(action); }

    // To workers. The gate notes in the job's record where the job went.
    void operator()(const SendJob& action) {
        gate_.observe(action);
        supervisor_.carry_out(action);
    }
    void operator()(const StartWorker& action) { supervisor_.carry_out(action); }
    void operator()(const StopWorker& action) { supervisor_.carry_out(action); }
    void operator()(const KillWorker& action) { supervisor_.carry_out(action); }
    void operator()(const CancelAttempt& action) { supervisor_.carry_out(action); }
    void operator()(const ProbeWorker& action) { supervisor_.carry_out(action); }
    void operator()(const ProveWorker& action) { supervisor_.carry_out(action); }

    // To people, and to the supervisor, which keeps facts, logs and stacks up to date.
    void operator()(const ReportLane& action) {
        reporter_.tell(action);
        supervisor_.observe(action);
    }
    void operator()(const ReportSlowJob& action) {
        reporter_.tell(action);
        supervisor_.observe(action);
    }
    void operator()(const ReportSuspect&) {}
    void operator()(const ReportSwitch& action) { supervisor_.observe(action); }
    void operator()(const ReportReload& action) {
        supervisor_.observe(action);
        reporter_.report_reloads();
    }
    void operator()(const ReportModelFailing& action) { reporter_.tell(action); }
    void operator()(const ReportNoMajority& action) { reporter_.tell(action); }

    void operator()(const Leave& action) {
        supervisor_.carry_out(action);
        leave_();
    }

private:
    Gate& gate_;
    Supervisor& supervisor_;
    TerminalReporter& reporter_;
    std::function<void()> leave_;
};

}  // namespace turnpike
