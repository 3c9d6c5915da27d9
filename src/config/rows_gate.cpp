// The keys of the whole gate.
#include <array>

#include "config/places.h"
#include "config/rows.h"
#include "config/text.h"

namespace turnpike {
namespace {

constexpr Duration long_time = 720h;
constexpr Bytes tebibyte{1024 * gibibyte.count};
constexpr std::size_t list_max = 1024;

using Taken = std::expected<void, std::string>;

template <auto Member>
auto& of_gate(Draft& draft) {
    return draft.config.gate.*Member;
}
template <auto Member>
auto& of_log(Draft& draft) {
    return draft.config.log.*Member;
}
template <auto Member>
auto& of_crashes(Draft& draft) {
    return draft.config.crashes.*Member;
}
template <auto Member>
auto& of_queue(Draft& draft) {
    return draft.queue.*Member;
}
template <auto Member>
auto& of_all(Draft& draft) {
    return draft.config.*Member;
}

Taken take_listen(Draft& draft, std::string_view text) {
    auto address = parse_address(text);
    if (!address) return std::unexpected(std::move(address.error()));
    draft.config.gate.listen = std::move(*address);
    return {};
}

Taken take_spool(Draft& draft, std::string_view text) {
    if (!text.starts_with('/') || has_control_characters(text))
        return std::unexpected("must be a folder's path that begins with a slash");
    draft.config.gate.spool = text;
    return {};
}

Taken take_host(Draft& draft, std::string_view text) {
    auto host = parse_host(text);
    if (!host) return std::unexpected(std::move(host.error()));
    draft.config.gate.allowed_hosts.push_back(std::move(*host));
    return {};
}

Taken take_origin(Draft& draft, std::string_view text) {
    auto origin = parse_origin(text);
    if (!origin) return std::unexpected(std::move(origin.error()));
    draft.config.gate.allowed_origins.push_back(std::move(*origin));
    return {};
}

Taken take_log_jobs(Draft& draft, std::string_view text) {
    if (has_control_characters(text) || text.ends_with('/'))
        return std::unexpected(R"(must be a file's path, "-" for stdout, or "" for none)");
    draft.config.log.jobs = text;
    return {};
}

constexpr std::array top{
    Key{"load_parallel", CountKey{of_all<&Config::load_parallel_max>, 0, 1024},
        "Workers that load (or prove themselves for the first time) at once; 0 is no limit."},
};

constexpr std::array gate{
    Key{"listen", TextKey{take_listen, "host:port; IPv6 in brackets", R"("127.0.0.1:8000")"},
        "Where clients come in. Port 0 takes any free port."},
    Key{"body_max", SizeKey{of_gate<&GateConfig::body_max>, kibibyte, tebibyte},
        "The largest body of a job; not above queue.bytes_max."},
    Key{"answer_buffer", SizeKey{of_gate<&GateConfig::answer_buffer>, Bytes{65536}, tebibyte},
        "How far a worker's answer may run ahead of a slow reader."},
    Key{"spool", TextKey{take_spool, "a folder", R"("/var/tmp")"},
        "Where bodies and answers over 1 MiB wait. Not a tmpfs: that is memory."},
    Key{"connections_max", CountKey{of_gate<&GateConfig::connections_max>, 1, 1'000'000},
        "Clients connected at once."},
    Key{"idle_timeout", TimeKey{of_gate<&GateConfig::idle_timeout>, 100ms, long_time},
        "A connection without a request is closed after this."},
    Key{"head_timeout", TimeKey{of_gate<&GateConfig::head_timeout>, 100ms, 1h},
        "From the first byte of a request's head to its last."},
    Key{"body_rate_min", SizeKey{of_gate<&GateConfig::body_rate_min>, Bytes{0}, gibibyte},
        "An upload slower than this per second is cut; 0B is no minimum."},
    Key{"answer_rate_min", SizeKey{of_gate<&GateConfig::answer_rate_min>, Bytes{0}, gibibyte},
        "A reader slower than this per second is cut while an answer waits; 0B is no minimum."},
    Key{"rate_window", TimeKey{of_gate<&GateConfig::rate_window>, 1s, 1h},
        "Both rates are judged over this long."},
    Key{"allowed_hosts", ListKey{take_host, list_max, "names without ports", "[]"},
        "Names that clients may use for this machine, beside loopback and the bound address."},
    Key{"allowed_origins",
        ListKey{take_origin, list_max, "origins such as https://example.org", "[]"},
        "Web pages from elsewhere that may send jobs."},
    Key{"shutdown_patience",
        TimeKey{of_gate<&GateConfig::shutdown_patience>, Duration::zero(), long_time},
        "How long live jobs may go on after the order to stop."},
};

constexpr std::array queue{
    Key{"jobs_max", CountKey{of_queue<&PoolSettings::queue_jobs_max>, 1, 1'000'000},
        "Jobs of a pool that arrive or wait; more are refused with 429."},
    Key{"bytes_max", SizeKey{of_all<&Config::bytes_max>, kibibyte, Bytes{16 * tebibyte.count}},
        "Bodies of all live jobs of the whole gate, those that still arrive included."},
    Key{"wait_max", TimeKey{of_queue<&PoolSettings::queue_wait_max>, 1ms, long_time},
        "A job that has waited this long is answered with 503."},
    Key{"arriving_max", CountKey{of_all<&Config::arriving_max>, 1, 100'000},
        "Uploads under way in the whole gate."},
    Key{"age_step", TimeKey{of_queue<&PoolSettings::age_step>, 1ms, long_time},
        "A job that has waited this much longer beats one level of priority."},
};

constexpr std::array log{
    Key{"jobs", TextKey{take_log_jobs, R"(a file; "-" is stdout; "" is none)", R"("")"},
        "One JSON line for each job that ends."},
    Key{"size_max", SizeKey{of_log<&LogConfig::size_max>, Bytes{65536}, tebibyte},
        "The file is put aside and begun anew at this size."},
    Key{"keep", CountKey{of_log<&LogConfig::keep>, 0, 100}, "How many files put aside are kept."},
    Key{"starts", FlagKey{of_log<&LogConfig::starts>}, "Also a line when a job begins to run."},
    Key{"lane_size_max", SizeKey{of_log<&LogConfig::lane_size_max>, Bytes{65536}, tebibyte},
        "What a lane's workers print goes to a file of its own, put aside at this size."},
    Key{"lane_keep", CountKey{of_log<&LogConfig::lane_keep>, 0, 100},
        "How many of those files put aside are kept for each lane."},
};

constexpr std::array crashes{
    Key{"keep", CountKey{of_crashes<&CrashConfig::keep>, 0, 1000},
        "Reports that are kept, one for each death; 0 is none."},
    Key{"inputs", FlagKey{of_crashes<&CrashConfig::inputs>},
        "Also the bodies of the jobs that were aboard."},
    Key{"input_max", SizeKey{of_crashes<&CrashConfig::input_max>, kibibyte, tebibyte},
        "A body is cut at this size."},
};

}  // namespace

std::span<const Key> top_keys() { return top; }
std::span<const Key> gate_keys() { return gate; }
std::span<const Key> queue_keys() { return queue; }
std::span<const Key> log_keys() { return log; }
std::span<const Key> crash_keys() { return crashes; }

}  // namespace turnpike
