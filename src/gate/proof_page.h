// What proofs showed: GET /-/pools/NAME/proof, and the member `proof` of a lane of /-/status.
#pragma once

#include <cstddef>

#include "base/json_writer.h"
#include "gate/own_routes.h"
#include "telemetry/lane_proof.h"

namespace turnpike {

/// {"passed":true,"by":"recording"}; null: there was none yet. What differed is for admins, as all that
/// workers say.
void append_proof(JsonWriter& json, const LaneProof& proof, const Caller& caller);

/// {"pool":"default","file":"…","lanes":[{"lane":0,"serves":true,"count":1,"request":{…},"answer":{…}}]}
OwnAnswered pool_proof(const OwnRequest& request);

}  // namespace turnpike
