// The keys of the whole gate.
#include <array>
#include <utility>

#include "config/places.h"
#include "config/row_parts.h"
#include "config/rows.h"
#include "config/text.h"

namespace turnpike {
namespace {

constexpr Bytes tebibyte{1024 * gibibyte.count};
constexpr std::size_t proxies_max = 64;  // requests of proxies are compared with all of them

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

Taken take_proxy(Draft& draft, std::string_view text) {
    ProxyTrust& trust = draft.config.gate.trusted_proxies;
    if (text == "unix") {
        trust.unix_socket = true;
        return {};
    }
    auto network = parse_network(text);
    if (!network) return std::unexpected(std::move(network.error()));
    trust.networks.push_back(*network);
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
        "How many workers of the whole gate may start or load at the same time. 0 means no\n"
        "limit. Set it if loading all models at once overloads the disk or the memory."},
};

constexpr std::array gate{
    Key{"listen", TextKey{take_listen, "host:port; IPv6 in brackets", R"("127.0.0.1:8000")"},
        "The address on which the gate listens for clients. Port 0 takes any free port."},
    Key{"body_max", SizeKey{of_gate<&GateConfig::body_max>, kibibyte, tebibyte},
        "The largest request body. A larger one is refused with 413. Must not exceed\n"
        "queue.bytes_max."},
    Key{"answer_buffer", SizeKey{of_gate<&GateConfig::answer_buffer>, Bytes{65536}, tebibyte},
        "How many bytes of a streamed answer may wait for a slow client. A worker that is\n"
        "further ahead has to wait. What exceeds 1 MiB waits on disk (see spool)."},
    Key{"answers_max",
        SizeKey{of_gate<&GateConfig::answers_max>, mebibyte, Bytes{16 * tebibyte.count}},
        "How many bytes of all answers together may wait for clients, in memory, on disk and in\n"
        "memory that native workers passed. Beyond that, the slowest reader of the client that\n"
        "holds most is disconnected."},
    Key{"spool", TextKey{take_spool, "a folder", R"("/var/tmp")"},
        "The folder for bodies and answers over 1 MiB while they wait. Do not use a tmpfs,\n"
        "which is memory."},
    Key{"connections_max", CountKey{of_gate<&GateConfig::connections_max>, 1, 1'000'000},
        "How many client connections may be open at once."},
    Key{"idle_timeout", TimeKey{of_gate<&GateConfig::idle_timeout>, 100ms, long_time},
        "How long a connection may stay open without a request."},
    Key{"head_timeout", TimeKey{of_gate<&GateConfig::head_timeout>, 100ms, 1h},
        "How long a client may take to send the head of a request. A slower one gets 408."},
    Key{"body_rate_min", SizeKey{of_gate<&GateConfig::body_rate_min>, Bytes{0}, gibibyte},
        "The slowest upload that is accepted, in bytes per second. A slower one gets 408. 0B\n"
        "means no minimum."},
    Key{"answer_rate_min", SizeKey{of_gate<&GateConfig::answer_rate_min>, Bytes{0}, gibibyte},
        "The slowest client that is accepted while an answer waits for it, in bytes per second.\n"
        "A slower one is disconnected. 0B means no minimum."},
    Key{"rate_window", TimeKey{of_gate<&GateConfig::rate_window>, 1s, 1h},
        "The time over which body_rate_min and answer_rate_min are measured."},
    Key{"allowed_hosts", ListKey{take_host, list_max, "names without ports", "[]"},
        "Host names that clients may use for this machine, besides loopback and the listen\n"
        "address. Requests with another Host and without a valid key are refused with 403."},
    Key{"allowed_origins",
        ListKey{take_origin, list_max, "origins such as https://example.org", "[]"},
        "Origins of web pages on other hosts that may send jobs, and nothing else unless they\n"
        "have a key. Others are refused with 403."},
    Key{"trusted_proxies",
        ListKey{take_proxy, proxies_max, "addresses, networks such as 10.0.0.0/8, or \"unix\"",
                "[]"},
        "Proxies that are believed when their Forwarded or X-Forwarded-For tells who the client\n"
        "is. Without it, all clients of a proxy count as one, and share what one may have. "
        "\"unix\"\n"
        "is a proxy that connects to the gate's Unix socket. List only proxies that add the\n"
        "address of their client themselves."},
    Key{"shutdown_patience",
        TimeKey{of_gate<&GateConfig::shutdown_patience>, Duration::zero(), long_time},
        "How long jobs may continue after the gate was told to stop. Then it ends them and\n"
        "exits."},
};

constexpr std::array queue{
    Key{"jobs_max", CountKey{of_queue<&PoolSettings::queue_jobs_max>, 1, 1'000'000},
        "How many jobs of one pool may arrive or wait at once. More are refused with 429."},
    Key{"bytes_max", SizeKey{of_all<&Config::bytes_max>, kibibyte, Bytes{16 * tebibyte.count}},
        "The total size of the bodies of all jobs in the whole gate, including those that still\n"
        "arrive. Jobs beyond it are refused with 429."},
    Key{"wait_max", TimeKey{of_queue<&PoolSettings::queue_wait_max>, 1ms, long_time},
        "How long a job may wait for a lane. Then it gets 503."},
    Key{"arriving_max", CountKey{of_all<&Config::arriving_max>, 1, 100'000},
        "How many uploads the whole gate accepts at once. More are refused with 429."},
    Key{"age_step", TimeKey{of_queue<&PoolSettings::age_step>, 1ms, long_time},
        "Waiting this long raises a job by one level of priority, so that no job waits forever."},
};

constexpr std::array log{
    Key{"jobs", TextKey{take_log_jobs, R"(a file, "-" for stdout, or "" for no log)", R"("")"},
        "Where to log jobs: one JSON line for each job that ends."},
    Key{"size_max", SizeKey{of_log<&LogConfig::size_max>, Bytes{65536}, tebibyte},
        "When the job log reaches this size, it is rotated."},
    Key{"keep", CountKey{of_log<&LogConfig::keep>, 0, 100}, "How many rotated job logs are kept."},
    Key{"starts", FlagKey{of_log<&LogConfig::starts>}, "Also log a line when a job starts to run."},
    Key{"lane_size_max", SizeKey{of_log<&LogConfig::lane_size_max>, Bytes{65536}, tebibyte},
        "Each lane has a log of what its workers print. At this size the log is rotated."},
    Key{"lane_keep", CountKey{of_log<&LogConfig::lane_keep>, 0, 100},
        "How many rotated logs are kept for each lane."},
};

constexpr std::array crashes{
    Key{"keep", CountKey{of_crashes<&CrashConfig::keep>, 0, 1000},
        "How many crash reports are kept: one for each worker that died. 0 writes none."},
    Key{"inputs", FlagKey{of_crashes<&CrashConfig::inputs>},
        "Also keep the request bodies of the jobs that the worker was running. Set to false if\n"
        "they must not be stored."},
    Key{"input_max", SizeKey{of_crashes<&CrashConfig::input_max>, kibibyte, tebibyte},
        "A body in a crash report is cut at this size."},
};

}  // namespace

std::span<const Key> top_keys() { return top; }
std::span<const Key> gate_keys() { return gate; }
std::span<const Key> queue_keys() { return queue; }
std::span<const Key> log_keys() { return log; }
std::span<const Key> crash_keys() { return crashes; }

}  // namespace turnpike
