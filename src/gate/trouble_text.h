// Makes the sentence about how an attempt failed, from its cause, and decides by the cause who reads
// the worker's own words.
#pragma once

#include <string>

#include "core/words.h"
#include "stream/trouble.h"
#include "telemetry/job_record.h"

namespace turnpike {

/// Returns what happened, in our own words: "its worker died: exit code 3". Empty if nothing did,
/// or if the model failed: then its own message says what happened.
[[nodiscard]] std::string sentence_of(const Trouble& trouble);

/// Returns what a client may read about the trouble: our sentence, or the model's message.
[[nodiscard]] std::string detail_for(Audience client, const Trouble& trouble);

/// Returns the worker's words that detail_for() keeps from this client, for the job's record.
[[nodiscard]] WithheldWords words_withheld_from(Audience client, const Trouble& trouble);

/// True if a job that ended for this reason ended because its attempt failed. A job may also run
/// out of time after an attempt has failed: then that attempt is not the reason.
[[nodiscard]] bool is_caused_by_attempt(EndReason reason);

}  // namespace turnpike
