// What is kept of a job: one value per job that ended, one per attempt that started, and how each
// reads as a line of the job log. Records own their text, so they outlive the request and can be
// handed to another thread; rendering allocates nothing beyond the string it appends to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/text.h"
#include "base/time.h"
#include "core/words.h"

namespace turnpike {

struct JobRecord {
    JobId job;  // none: it was never admitted
    Text<24> id;
    Text<64> pool;
    LaneId lane;   // of the last attempt; none: it never ran
    Text<48> gpu;  // of that lane, as people call it ("0", "0,1"); empty: none
    std::int64_t arrived_unix_ns = 0;
    Duration upload = Duration::zero();  // from arrival to the end of its body
    Duration queue = Duration::zero();   // from the end of its body to the last attempt
    Duration run = Duration::zero();     // from there to the end
    std::uint32_t attempts = 0;
    int status = 0;  // 0: none was sent
    Bytes bytes_in;
    Bytes bytes_out;
    Text<64> client;  // address and port
    Text<64> key;     // the name of its API key; empty: it came without one
    Text<8> method;
    Text<128> path;  // without the query, which may hold secrets
    Outcome outcome = Outcome::finished;
    EndReason reason = EndReason::answered;
    bool is_slow = false;  // it ran so far over the usual time that its worker's stacks were dumped
    Text<240> detail;      // what went wrong, if the gate had to say it: "poison: the connection …"
};

/// In a record's detail: what follows was printed by a worker, and is for admins.
inline constexpr std::string_view last_output_mark = "; its last output: ";
/// The same: words of the model that its client did not get to read.
inline constexpr std::string_view not_shown_mark = "; not shown to its client: ";

struct JobStart {
    Text<24> id;
    Text<64> pool;
    LaneId lane;
    Text<48> gpu;
    std::uint32_t attempt = 1;
    std::int64_t at_unix_ns = 0;
};

/// {"id":"…","pool":"…","lane":0,"gpu":null,"arrived":"2026-11-15T10:00:00.123Z","queue_ms":0.1,
///  "run_ms":12.3,"attempts":1,"status":200,"bytes_in":5,"bytes_out":7,"client":"127.0.0.1:5000",
///  "method":"POST","path":"/predict","outcome":"finished","reason":"answered"}
/// `lane` is null if it never ran, `gpu` without one, `status` if none was sent; "key" follows
/// "client" only if there is one, "slow":true "reason" only if it was; "detail" ends the line if
/// there is one.
void append_json_line(std::string& out, const JobRecord& record);

/// {"id":"…","event":"started","pool":"…","lane":0,"gpu":"0","attempt":1,"at":"2026-…Z"}
void append_json_line(std::string& out, const JobStart& start);

/// For people at a terminal: the end's time of day, id, lane, request, status, how long it took, and
/// what went wrong. Clients choose some of this text: whatever a terminal could obey is replaced.
/// `utc_offset` moves the time of day to the reader's.
void append_readable_line(std::string& out, const JobRecord& record,
                          Duration utc_offset = Duration::zero());

/// "started on GPU 0", or "on lane 0" where there is no GPU.
void append_readable_line(std::string& out, const JobStart& start,
                          Duration utc_offset = Duration::zero());

}  // namespace turnpike
