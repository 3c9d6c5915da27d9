// What people may want to know of a lane and no decision depends on. The supervisor writes it, the
// gate shows it.
#pragma once

#include <string>

namespace turnpike {

struct LaneFacts {
    std::string worker;   // the URL of an attached worker
    std::string trouble;  // the latest thing that went wrong with it; empty: nothing
};

}  // namespace turnpike
