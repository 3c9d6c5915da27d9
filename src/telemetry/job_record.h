// What is kept about a job: one record per job that ended and one per attempt that started, each
// with the functions that write it as a line of the job log. Records own their text, so they
// outlive the request and can be passed to another thread. Rendering allocates nothing but the
// string that it appends to.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/text.h"
#include "base/time.h"
#include "core/words.h"

namespace turnpike {

/// What a job's worker said and its client was not shown. Only admins may read it.
struct WithheldWords {
    enum class Are : std::uint8_t { none, message, last_output };

    Are are = Are::none;  // `message`: the model's, about this job
    Text<240> text;
};

/// What a job's client got instead of a whole answer of its worker.
struct JobFailure {
    Text<24> problem;  // its name: "worker-died"; empty if the client got a whole answer
    Text<240> detail;  // what the client read about this case; may be empty
    WithheldWords withheld;
};

struct JobRecord {
    JobId job;  // none if the job was never admitted
    Text<24> id;
    Text<64> pool;
    LaneId lane;   // of the last attempt; none if the job never ran
    Text<48> gpu;  // of that lane, for people ("0", "0,1"); empty if the lane has none
    std::int64_t arrived_unix_ns = 0;
    Duration upload = Duration::zero();  // from arrival to the end of its body
    Duration queue = Duration::zero();   // from the end of its body to the last attempt
    Duration run = Duration::zero();     // from there to the end
    std::uint32_t attempts = 0;
    int status = 0;  // 0 if no answer was sent
    Bytes bytes_in;
    Bytes bytes_out;
    Text<64> client;           // address and port
    Text<64> key;              // the name of its API key; empty if it came without one
    std::uint64_t key_id = 0;  // which key of that name, since a new key may get an old one's name
    Text<8> method;
    Text<128> path;  // without the query, which may hold secrets
    Outcome outcome = Outcome::finished;
    EndReason reason = EndReason::answered;
    bool is_slow = false;  // it ran far longer than usual, so its worker's stacks were dumped
    JobFailure failure;
};

struct JobStart {
    Text<24> id;
    Text<64> pool;
    LaneId lane;
    Text<48> gpu;
    std::uint32_t attempt = 1;
    std::int64_t at_unix_ns = 0;
};

/// Appends a line of JSON:
/// {"id":"…","pool":"…","lane":0,"gpu":null,"arrived":"2026-11-15T10:00:00.123Z","queue_ms":0.1,
///  "run_ms":12.3,"attempts":1,"status":200,"bytes_in":5,"bytes_out":7,"client":"127.0.0.1:5000",
///  "method":"POST","path":"/predict","outcome":"finished","reason":"answered"}
/// `lane` is null if the job never ran, `gpu` if the lane has none, `status` if no answer was sent.
/// Three members are optional: "key" after "client", "slow":true after "reason", and "detail" at
/// the end. "detail" has all that is known about a failure:
/// "worker-died: its worker died: exit code 3; its last output: Traceback …"
void append_json_line(std::string& out, const JobRecord& record);

/// Whether a reader gets the words that the job's client was not shown.
enum class Withheld : std::uint8_t { hidden, shown };

/// Appends the members of the same object, without its braces.
void append_json_members(std::string& out, const JobRecord& record, Withheld words);

/// Appends {"id":"…","event":"started","pool":"…","lane":0,"gpu":"0","attempt":1,"at":"2026-…Z"}
void append_json_line(std::string& out, const JobStart& start);

/// Appends a line for people at a terminal: time of day of the end, id, lane, request, status, how
/// long the job took, and what went wrong. Clients choose some of this text, so every character
/// that could control a terminal is replaced. `utc_offset` is the offset of the reader's time zone.
void append_readable_line(std::string& out, const JobRecord& record,
                          Duration utc_offset = Duration::zero());

/// Appends a line with "started on GPU 0", or "started on lane 0" if the lane has no GPU.
void append_readable_line(std::string& out, const JobStart& start,
                          Duration utc_offset = Duration::zero());

}  // namespace turnpike
