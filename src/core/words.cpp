#include "core/words.h"

namespace turnpike {

std::string_view name_of(Verdict value) {
    switch (value) {
        case Verdict::answered: return "answered";
        case Verdict::bad_input: return "bad_input";
        case Verdict::model_failed: return "model_failed";
        case Verdict::non_finite: return "non_finite";
        case Verdict::out_of_memory: return "out_of_memory";
        case Verdict::unhealthy: return "unhealthy";
        case Verdict::broken: return "broken";
        case Verdict::undelivered: return "undelivered";
        case Verdict::cancelled: return "cancelled";
        case Verdict::closed: return "closed";
        case Verdict::stale: return "stale";
        case Verdict::shortage: return "shortage";
    }
    return "?";
}

std::string_view name_of(EndReason value) {
    switch (value) {
        case EndReason::answered: return "answered";
        case EndReason::bad_input: return "bad_input";
        case EndReason::model_failed: return "model_failed";
        case EndReason::non_finite: return "non_finite";
        case EndReason::out_of_memory: return "out_of_memory";
        case EndReason::worker_died: return "worker_died";
        case EndReason::poison: return "poison";
        case EndReason::known_poison: return "known_poison";
        case EndReason::stream_broken: return "stream_broken";
        case EndReason::deadline_passed: return "deadline_passed";
        case EndReason::ran_too_long: return "ran_too_long";
        case EndReason::waited_too_long: return "waited_too_long";
        case EndReason::no_lane: return "no_lane";
        case EndReason::lane_unknown: return "lane_unknown";
        case EndReason::queue_full: return "queue_full";
        case EndReason::bytes_full: return "bytes_full";
        case EndReason::arrivals_full: return "arrivals_full";
        case EndReason::lane_queue_full: return "lane_queue_full";
        case EndReason::client_limit: return "client_limit";
        case EndReason::crowded_out: return "crowded_out";
        case EndReason::body_failed: return "body_failed";
        case EndReason::shortage: return "shortage";
        case EndReason::aside_full: return "aside_full";
        case EndReason::rate_exceeded: return "rate_exceeded";
        case EndReason::shutting_down: return "shutting_down";
        case EndReason::client_left: return "client_left";
        case EndReason::cancel_asked: return "cancel_asked";
        case EndReason::client_too_slow: return "client_too_slow";
        case EndReason::answers_full: return "answers_full";
        case EndReason::answer_lost: return "answer_lost";
    }
    return "?";
}

std::string_view name_of(Outcome value) {
    switch (value) {
        case Outcome::finished: return "finished";
        case Outcome::failed: return "failed";
        case Outcome::timed_out: return "timed_out";
        case Outcome::cancelled: return "cancelled";
        case Outcome::refused: return "refused";
    }
    return "?";
}

std::string_view name_of(Departure value) {
    switch (value) {
        case Departure::left: return "left";
        case Departure::too_slow: return "too_slow";
        case Departure::answers_full: return "answers_full";
        case Departure::answer_lost: return "answer_lost";
    }
    return "?";
}

std::string_view name_of(LaneState value) {
    switch (value) {
        case LaneState::starting: return "starting";
        case LaneState::loading: return "loading";
        case LaneState::proving: return "proving";
        case LaneState::ready: return "ready";
        case LaneState::busy: return "busy";
        case LaneState::draining: return "draining";
        case LaneState::drained: return "drained";
        case LaneState::backoff: return "backoff";
        case LaneState::failed: return "failed";
        case LaneState::quarantined: return "quarantined";
    }
    return "?";
}

std::string_view name_of(Reason value) {
    switch (value) {
        case Reason::none: return "none";
        case Reason::exited: return "exited";
        case Reason::load_silent: return "load_silent";
        case Reason::misbehaved: return "misbehaved";
        case Reason::unhealthy: return "unhealthy";
        case Reason::not_answering: return "not_answering";
        case Reason::proof_failed: return "proof_failed";
        case Reason::proof_silent: return "proof_silent";
        case Reason::disagrees: return "disagrees";
        case Reason::job_stuck: return "job_stuck";
        case Reason::job_abandoned: return "job_abandoned";
        case Reason::job_cancelled: return "job_cancelled";
        case Reason::trying_again: return "trying_again";
        case Reason::gpu_lost: return "gpu_lost";
        case Reason::will_not_die: return "will_not_die";
        case Reason::shortage: return "shortage";
        case Reason::restart_asked: return "restart_asked";
        case Reason::drain_asked: return "drain_asked";
        case Reason::replaced: return "replaced";
        case Reason::reload_abandoned: return "reload_abandoned";
        case Reason::shutting_down: return "shutting_down";
        case Reason::worker_away: return "worker_away";
        case Reason::crashed_too_often: return "crashed_too_often";
        case Reason::memory_held: return "memory_held";
        case Reason::turn_to_load: return "turn_to_load";
        case Reason::failing_jobs: return "failing_jobs";
        case Reason::link_doubted: return "link_doubted";
        case Reason::proof_due: return "proof_due";
    }
    return "?";
}

std::string_view name_of(ProofVerdict value) {
    switch (value) {
        case ProofVerdict::passed: return "passed";
        case ProofVerdict::failed: return "failed";
        case ProofVerdict::grouped: return "grouped";
        case ProofVerdict::not_sent: return "not_sent";
    }
    return "?";
}

std::string_view name_of(ProbeVerdict value) {
    switch (value) {
        case ProbeVerdict::answered: return "answered";
        case ProbeVerdict::silent: return "silent";
        case ProbeVerdict::refused: return "refused";
        case ProbeVerdict::not_sent: return "not_sent";
    }
    return "?";
}

std::string_view name_of(ExitCause value) {
    switch (value) {
        case ExitCause::worker: return "worker";
        case ExitCause::shortage: return "shortage";
    }
    return "?";
}

std::string_view name_of(Memory value) {
    switch (value) {
        case Memory::freed: return "freed";
        case Memory::held: return "held";
    }
    return "?";
}

std::string_view name_of(CancelPolicy value) {
    switch (value) {
        case CancelPolicy::finish: return "finish";
        case CancelPolicy::close: return "close";
        case CancelPolicy::kill: return "kill";
    }
    return "?";
}

std::string_view name_of(ProofKind value) {
    switch (value) {
        case ProofKind::none: return "none";
        case ProofKind::fixed: return "fixed";
        case ProofKind::agree: return "agree";
    }
    return "?";
}

std::string_view name_of(ReloadKind value) {
    switch (value) {
        case ReloadKind::beside: return "beside";
        case ReloadKind::in_place: return "in_place";
    }
    return "?";
}

std::string_view name_of(Ownership value) {
    switch (value) {
        case Ownership::owned: return "owned";
        case Ownership::attached: return "attached";
    }
    return "?";
}

std::string_view name_of(ReloadEnd value) {
    switch (value) {
        case ReloadEnd::spread: return "spread";
        case ReloadEnd::abandoned: return "abandoned";
        case ReloadEnd::superseded: return "superseded";
    }
    return "?";
}

}  // namespace turnpike
