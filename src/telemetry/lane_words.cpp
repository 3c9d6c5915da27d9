#include "telemetry/lane_words.h"

#include "base/span_text.h"

namespace turnpike {

std::string_view words_for(LaneState state) {
    switch (state) {
        case LaneState::starting:
        case LaneState::loading: return "comes up";
        case LaneState::proving: return "proves itself";
        case LaneState::ready:
        case LaneState::busy: return "serves";
        case LaneState::draining: return "finishes its jobs";
        case LaneState::drained: return "is drained";
        case LaneState::backoff: return "is out of the pool";
        case LaneState::failed: return "has failed";
        case LaneState::quarantined: return "is quarantined";
    }
    return "";
}

std::string_view words_for(Reason reason) {
    switch (reason) {
        case Reason::none: return "";
        case Reason::exited: return "its worker ended";
        case Reason::load_silent: return "loading showed no progress";
        case Reason::misbehaved: return "its worker broke the protocol";
        case Reason::unhealthy: return "its worker says that it can't go on";
        case Reason::not_answering: return "its worker does not answer health checks";
        case Reason::proof_failed: return "it gave a wrong answer to its proof";
        case Reason::proof_silent: return "it gave no answer to its proof";
        case Reason::disagrees: return "its answer differs from the majority's";
        case Reason::job_stuck: return "a job ran over its time and did not stop";
        case Reason::job_abandoned:
            return "nobody waited for its jobs any more, and it did not end them";
        case Reason::job_cancelled: return "its job was cancelled";
        case Reason::trying_again: return "it crashed too often, and tries to start again now";
        case Reason::gpu_lost: return "its GPU is gone";
        case Reason::will_not_die: return "its old worker does not die";
        case Reason::shortage:
            return "Turnpike or this machine lacks what a start needs; it is tried again";
        case Reason::restart_asked: return "a restart was asked for";
        case Reason::drain_asked: return "a drain was asked for";
        case Reason::replaced: return "newer code took over";
        case Reason::reload_abandoned: return "its code failed elsewhere";
        case Reason::shutting_down: return "the gate shuts down";
        case Reason::crashed_too_often: return "it crashed too often";
        case Reason::worker_away: return "its worker does not answer yet";
        case Reason::memory_held: return "the old worker's memory is still taken";
        case Reason::turn_to_load: return "it waits for its turn to load";
        case Reason::failing_jobs: return "job after job failed on it";
        case Reason::link_doubted:
            return "a connection to its worker broke; a health check decides";
        case Reason::proof_due: return "a proof is due";
    }
    return "";
}

std::string_view words_for_reason(std::string_view name) {
    for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(Reason::proof_due); ++i)
        if (name_of(Reason{i}) == name) return words_for(Reason{i});
    return name;
}

std::string next_try_words(Duration next_try) {
    return next_try > Duration::zero() ? "next try in " + span_text(next_try) : "";
}

std::string sentence_of(const LaneView& lane) {
    std::string text = "lane " + std::to_string(lane.lane.value) + ' ';
    text += words_for(lane.state);
    if (const auto why = words_for(lane.reason); !why.empty()) text.append(": ").append(why);
    if (const auto next = next_try_words(lane.next_try); !next.empty()) text += ", " + next;
    return text;
}

std::string sentences_about_lanes(const View& view, PoolId pool) {
    std::string text;
    for (const LaneView& lane : view.lanes)
        if (lane.pool == pool) text += (text.empty() ? "" : "; ") + sentence_of(lane);
    return text;
}

}  // namespace turnpike
