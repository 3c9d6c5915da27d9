#include "telemetry/lane_trouble.h"

namespace turnpike {

std::string_view name_of(LaneCause cause) {
    switch (cause) {
        case LaneCause::none: return "none";
        case LaneCause::exited: return "exited";
        case LaneCause::ended: return "ended";
        case LaneCause::load_silent: return "load_silent";
        case LaneCause::survives_kill: return "survives_kill";
        case LaneCause::misbehaved: return "misbehaved";
        case LaneCause::no_hello: return "no_hello";
        case LaneCause::port_taken: return "port_taken";
        case LaneCause::other_port: return "other_port";
        case LaneCause::unknown_host: return "unknown_host";
        case LaneCause::refused: return "refused";
        case LaneCause::no_answer: return "no_answer";
        case LaneCause::bad_answer: return "bad_answer";
        case LaneCause::proof_failed: return "proof_failed";
        case LaneCause::wrong_answer: return "wrong_answer";
        case LaneCause::disagrees: return "disagrees";
        case LaneCause::gpu_silent: return "gpu_silent";
        case LaneCause::shortage: return "shortage";
    }
    return "";
}

}  // namespace turnpike
