// The checks of one turn. judge() checks one action against the ledger and then records it there;
// the check_ functions run when all actions of the turn are recorded.
#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/action.h"
#include "sim/ledger.h"

namespace turnpike::sim {

/// Records that the invariant does not hold. Formats the text only for the first violation.
template <class... Parts>
void broken(Ledger& ledger, std::string_view invariant, fmt::format_string<Parts...> text,
            Parts&&... parts) {
    if (!ledger.violation)
        ledger.complain(invariant, fmt::format(text, std::forward<Parts>(parts)...));
}

// invariants_jobs.cpp
void judge(Ledger& ledger, const AdmitJob& admit);
void judge(Ledger& ledger, const RefuseJob& refuse);
void judge(Ledger& ledger, const HashJob& hash);
void judge(Ledger& ledger, const EndJob& end);
void check_fates(Ledger& ledger);
void check_job_times(Ledger& ledger);

// invariants_sends.cpp
void judge(Ledger& ledger, const SendJob& send);
void judge(Ledger& ledger, const ReportSuspect& report);
void judge(Ledger& ledger, const CancelAttempt& cancel);
void judge(Ledger& ledger, const ReportSlowJob& report);
void check_attempt_times(Ledger& ledger);

// invariants_waiting.cpp
void check_idle_lanes(Ledger& ledger);
void check_reservations(Ledger& ledger);

// invariants_workers.cpp
void judge(Ledger& ledger, const StartWorker& start);
void judge(Ledger& ledger, const StopWorker& stop);
void judge(Ledger& ledger, const KillWorker& kill);
void check_workers(Ledger& ledger);

// invariants_health.cpp
void judge(Ledger& ledger, const ProbeWorker& probe);
void judge(Ledger& ledger, const ProveWorker& prove);
void judge(Ledger& ledger, const ReportModelFailing& report);
void judge(Ledger& ledger, const ReportNoMajority& report);
void check_health(Ledger& ledger);

// invariants_lanes.cpp
void judge(Ledger& ledger, const Leave& leave);
void judge(Ledger& ledger, const ReportLane& report);
void judge(Ledger& ledger, const ReportSwitch& report);
void judge(Ledger& ledger, const ReportReload& report);
void check_lanes(Ledger& ledger);
void check_generations(Ledger& ledger);
void check_shutdown(Ledger& ledger);

// invariants_counts.cpp
void check_counts(Ledger& ledger);
void check_clients(Ledger& ledger);

// invariants_calm.cpp
void check_calm(Ledger& ledger, Healed healed);

}  // namespace turnpike::sim
