// The configuration: defaults ← turnpike.toml ← flags, checked as a whole before anything starts.
// All values of a Config are within their bounds. All mistakes are reported at once, sorted by
// line.
//
//     auto config = make_config("turnpike.toml", {.port = 9000});
//     if (!config) for (const Mistake& mistake : config.error()) print(text_of(mistake));
//
// config/turnpike.example.toml lists the keys, with their meaning and their bounds.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "config/network.h"
#include "config/units.h"
#include "core/settings.h"

namespace turnpike {

/// "127.0.0.1:8000", "[::1]:8000", "localhost:8000". The host has no brackets. Port 0
/// takes any free port.
struct Address {
    std::string host;
    std::uint16_t port = 0;
    friend bool operator==(const Address&, const Address&) = default;
};

/// Returns "127.0.0.1:8000" or "[::1]:8000".
[[nodiscard]] std::string text_of(const Address& address);

/// The URL of an attached worker: http://host[:port][/prefix].
struct WorkerUrl {
    std::string text;  // as it was written
    std::string host;  // lower case, without brackets
    std::uint16_t port = 80;
    std::string prefix;  // comes before the path of each job; has no slash at its end
    friend bool operator==(const WorkerUrl&, const WorkerUrl&) = default;
};

/// "GET /v1/models" matches this exact path, with any query. A path that ends in "/*" matches every
/// path that begins with the part before the star.
struct AsideRule {
    std::string method;
    std::string path;
    friend bool operator==(const AsideRule&, const AsideRule&) = default;
};

enum class Compare : std::uint8_t {
    exact,  // byte by byte
    json,   // as JSON values; numbers may differ by the tolerances
};

/// The request of a proof and its right answer. PoolSettings::proof tells whether the pool has a
/// proof, and of which kind.
struct ProofConfig {
    std::string method = "POST";
    std::string path = "/predict";  // including the query
    std::string content_type = "application/json";
    std::string body;
    int status = 200;
    Compare compare = Compare::exact;  // with `agree`: json if there is a tolerance
    std::string expected;              // JSON text, not parsed yet, or bytes
    double tolerance_absolute = 0;
    double tolerance_relative = 0;
    bool integers_exact = false;  // the tolerances hold only for numbers with a decimal point
    friend bool operator==(const ProofConfig&, const ProofConfig&) = default;
};

/// How a worker learns which GPUs it may use.
enum class Pin : std::uint8_t {
    index,  // CUDA_VISIBLE_DEVICES=0,1 with CUDA_DEVICE_ORDER=PCI_BUS_ID
    uuid,   // CUDA_VISIBLE_DEVICES=GPU-…
    none,   // Turnpike sets no variable
};

/// The GPUs of a pool.
struct GpuChoice {
    enum class Kind : std::uint8_t { unset, all, none, listed };
    Kind kind = Kind::unset;
    std::vector<std::string> listed;  // "0", a UUID or its beginning, or the name of a MIG device
    friend bool operator==(const GpuChoice&, const GpuChoice&) = default;
};

/// What a native worker runs.
struct ModelChoice {
    enum class Kind : std::uint8_t { none, python, program };
    Kind kind = Kind::none;
    std::string path;  // absolute
    std::string name;  // Python: the part after the colon ("Digits"); empty means the only model
    std::string text;  // as it was written: "model.py:Digits"
    friend bool operator==(const ModelChoice&, const ModelChoice&) = default;
};

/// How a reload replaces the workers of a pool.
enum class ReloadChoice : std::uint8_t {
    automatic,  // beside if there is enough memory, else in place
    beside,     // the new workers start while the old ones serve
    in_place,   // the old worker of a lane ends before its new one starts
};

/// Workers that Turnpike starts, one per lane: native workers (`model`) or HTTP servers
/// (`command`). Both are empty in a pool of attached workers.
struct WorkerConfig {
    ModelChoice model;
    /// The interpreter: an absolute path, or a name to find in PATH. Empty if not set. Once the
    /// whole configuration is checked, it is an absolute path.
    std::string python;
    std::uint16_t slots_configured = 0;  // for native workers; 0 means the model decides
    std::uint16_t batch_configured = 0;
    std::string command;  // for /bin/sh; has {port} or {socket}, optionally {gpu} {gpus} {lane}
    std::string folder;   // where workers run: the config file's folder; empty means that of `up`
    GpuChoice gpus;
    std::uint32_t gpus_per_lane = 1;
    std::uint32_t lanes = 0;  // total; 0 means one per gpus_per_lane GPUs, or four without a GPU
    Pin pin = Pin::index;
    std::vector<std::pair<std::string, std::string>> env;
    ReloadChoice reload = ReloadChoice::automatic;
    bool watch = false;  // native: reload when a file is saved
    bool warm = true;    // Python: fork workers from a process that has done the imports
    std::vector<std::string> preload;  // its modules; empty means those that the model imported
    friend bool operator==(const WorkerConfig&, const WorkerConfig&) = default;
};

/// Which clients see the text of a model's exceptions. All clients see the text of a BadInput.
enum class ErrorsShown : std::uint8_t { to_loopback, full };

/// If Turnpike starts the workers of the pool, PoolSettings::lanes is set later, when the lanes are
/// assigned to GPUs.
struct PoolConfig {
    std::string name = "default";
    std::vector<WorkerUrl> attach;  // one lane each, in this order
    WorkerConfig worker;
    bool is_default = false;  // takes the jobs that name no pool; a single pool always does
    std::vector<std::string> models;
    std::vector<AsideRule> aside;
    std::string health_path = "/health";
    bool keep_alive = true;  // connections to HTTP workers may carry several requests
    ProofConfig proof;
    PoolSettings settings;
    ErrorsShown errors = ErrorsShown::to_loopback;

    [[nodiscard]] bool is_native() const { return worker.model.kind != ModelChoice::Kind::none; }
    [[nodiscard]] bool is_started() const { return is_native() || !worker.command.empty(); }
};

/// Which peers are proxies whose Forwarded and X-Forwarded-For tell who the client is.
struct ProxyTrust {
    std::vector<Network> networks;
    bool unix_socket = false;  // a proxy that connects to the Unix socket
    friend bool operator==(const ProxyTrust&, const ProxyTrust&) = default;
};

struct GateConfig {
    Address listen{"127.0.0.1", 8000};
    Bytes body_max{64 * mebibyte.count};
    Bytes answer_buffer{64 * mebibyte.count};
    Bytes answers_max{2 * gibibyte.count};  // all answers that wait for clients
    std::string spool = "/var/tmp";
    std::uint32_t connections_max = 12000;
    Duration idle_timeout = 75s;
    Duration head_timeout = 10s;
    Bytes body_rate_min = kibibyte;    // per second, measured over rate_window; 0 means no minimum
    Bytes answer_rate_min = kibibyte;  // like body_rate_min
    Duration rate_window = 10s;
    std::vector<std::string> allowed_hosts;    // in lower case, without port and brackets
    std::vector<std::string> allowed_origins;  // scheme://host[:port] in lower case
    ProxyTrust trusted_proxies;
    Duration shutdown_patience = 30s;
    friend bool operator==(const GateConfig&, const GateConfig&) = default;
};

struct LogConfig {
    std::string jobs;  // a file, "-" for stdout, or "" for no log
    Bytes size_max{100 * mebibyte.count};
    std::uint32_t keep = 5;
    bool starts = false;
    Bytes lane_size_max{16 * mebibyte.count};  // at which a lane's log is rotated
    std::uint32_t lane_keep = 3;
    friend bool operator==(const LogConfig&, const LogConfig&) = default;
};

/// Crash reports about workers that died.
struct CrashConfig {
    std::uint32_t keep = 50;  // number of reports; 0 means that none are written
    bool inputs = true;       // also store the bodies of the worker's jobs
    Bytes input_max{16 * mebibyte.count};
    friend bool operator==(const CrashConfig&, const CrashConfig&) = default;
};

struct Mistake {
    std::string file;  // empty for a mistake in a flag
    int line = 0;      // 0 if there is no line
    std::string key;   // "gate.listen", "--attach"; empty if it is about the whole file
    std::string problem;
    friend bool operator==(const Mistake&, const Mistake&) = default;
};

/// Returns "file:line: key: problem", without the parts that are empty.
[[nodiscard]] std::string text_of(const Mistake&);

/// Where a value was set.
struct Origin {
    int line = 0;
    std::string flag;  // empty if the value is in the file
};

/// Where each value was set, so that a mistake that is found later can still name the place.
struct Sources {
    std::string file;
    std::map<std::string, Origin> origins;  // by path: "gate.listen", "pool.chat.attach[1]"

    /// Returns a mistake in the value at `path`. If the value was not set, the mistake has the line
    /// of the table around it.
    [[nodiscard]] Mistake mistake(std::string_view path, std::string problem) const;
};

struct Config {
    GateConfig gate;
    LogConfig log;
    CrashConfig crashes;
    std::vector<PoolConfig> pools;  // in the file's order; at least one
    Bytes bytes_max = gibibyte;
    std::uint32_t arriving_max = 256;
    std::uint32_t load_parallel_max = 0;  // 0 means no limit
    Sources sources;
};

/// Returns the engine's settings. `seed` is for the restart jitter.
[[nodiscard]] Settings engine_settings(const Config&, std::uint64_t seed);

using ConfigOrMistakes = std::expected<Config, std::vector<Mistake>>;

[[nodiscard]] ConfigOrMistakes parse_config(std::string_view text, std::string_view file_name);
[[nodiscard]] ConfigOrMistakes load_config(const std::string& path);

/// The flags that override keys. `attach`, `worker` and `model` make a pool "default", or replace
/// the workers of the file's only pool. `python`, `gpus`, `gpus_per_lane`, `lanes` and `slots` set
/// values of the only pool.
struct Flags {
    std::vector<std::string> attach;
    std::optional<std::string> worker;
    std::optional<std::string> model;  // "model.py:Digits", "./worker"
    std::optional<std::string> python;
    std::optional<std::string> gpus;  // "all", "none", "0,2"
    std::optional<std::uint32_t> gpus_per_lane;
    std::optional<std::uint32_t> lanes;
    std::optional<std::string> host;
    std::optional<std::uint16_t> port;
    std::optional<std::uint32_t> slots;
    std::optional<std::string> log_jobs;
    bool log_starts = false;
    bool watch = false;  // for every pool with a model
};

[[nodiscard]] ConfigOrMistakes make_config(std::optional<std::string> path, const Flags&);

}  // namespace turnpike
