// The results of proofs: GET /-/pools/NAME/proof, and the member `proof` of a lane in /-/status.
#pragma once

#include <cstddef>

#include "base/json_writer.h"
#include "gate/own_routes.h"
#include "telemetry/lane_proof.h"

namespace turnpike {

/// Appends {"passed":true,"by":"recording","trouble":null}, or null if there was no proof yet. Only
/// admins see `trouble`, like everything that workers say.
void append_proof(JsonWriter& json, const LaneProof& proof, const Caller& caller);

/// Answers with the latest proof of each lane:
/// {"pool":"default",…,"lanes":[{"lane":0,"serves":true,"count":1,…,"request":{…},"answer":{…}}]}
OwnAnswered pool_proof(const OwnRequest& request);

}  // namespace turnpike
