// The configuration: defaults ← turnpike.toml ← flags, checked as a whole before anything starts.
// Whoever holds a Config may rely on every bound; all mistakes come at once, sorted by line.
//
//     auto config = make_config("turnpike.toml", {.port = 9000});
//     if (!config) for (const Mistake& mistake : config.error()) print(text_of(mistake));
//
// The keys, with their bounds and what they mean: config/turnpike.example.toml.
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
#include "config/units.h"
#include "core/settings.h"

namespace turnpike {

/// "127.0.0.1:8000", "[::1]:8000", "localhost:8000". The host has no brackets; port 0: any free one.
struct Address {
    std::string host;
    std::uint16_t port = 0;
    friend bool operator==(const Address&, const Address&) = default;
};

/// "127.0.0.1:8000", "[::1]:8000"
[[nodiscard]] std::string text_of(const Address& address);

/// http://host[:port][/prefix], of an attached worker.
struct WorkerUrl {
    std::string text;  // as it was written
    std::string host;  // lower case, without brackets
    std::uint16_t port = 80;
    std::string prefix;  // without a slash at its end; put before the path of each job
    friend bool operator==(const WorkerUrl&, const WorkerUrl&) = default;
};

/// "GET /v1/models": the exact path, whatever its query. A path that ends in "/*" stands for all
/// that begin with what is before the star.
struct AsideRule {
    std::string method;
    std::string path;
    friend bool operator==(const AsideRule&, const AsideRule&) = default;
};

enum class Compare : std::uint8_t {
    exact,  // byte by byte
    json,   // as JSON values; numbers within the tolerances
};

/// Whether there is a proof, and which kind, is said by PoolSettings::proof.
struct ProofConfig {
    std::string method = "POST";
    std::string path = "/predict";  // with its query
    std::string content_type = "application/json";
    std::string body;
    int status = 200;
    Compare compare = Compare::exact;  // pools that agree: json if there is a tolerance
    std::string expected;              // JSON text that nobody has parsed yet, or bytes
    double tolerance_absolute = 0;
    double tolerance_relative = 0;
    bool integers_exact = false;  // the tolerances are for numbers with a point only
    friend bool operator==(const ProofConfig&, const ProofConfig&) = default;
};

/// How a worker learns which GPUs are its own.
enum class Pin : std::uint8_t {
    index,  // CUDA_VISIBLE_DEVICES=0,1 with CUDA_DEVICE_ORDER=PCI_BUS_ID
    uuid,   // CUDA_VISIBLE_DEVICES=GPU-…
    none,   // not at all
};

/// The GPUs of a pool.
struct GpuChoice {
    enum class Kind : std::uint8_t { unset, all, none, listed };
    Kind kind = Kind::unset;
    std::vector<std::string> listed;  // "0", a UUID or its beginning, a MIG device's name
    friend bool operator==(const GpuChoice&, const GpuChoice&) = default;
};

/// What a native worker runs.
struct ModelChoice {
    enum class Kind : std::uint8_t { none, python, program };
    Kind kind = Kind::none;
    std::string path;  // absolute
    std::string name;  // python: what follows the colon ("Digits"); empty: the only model in it
    std::string text;  // as it was written: "model.py:Digits"
    friend bool operator==(const ModelChoice&, const ModelChoice&) = default;
};

/// How a pool goes over to new code.
enum class ReloadChoice : std::uint8_t {
    automatic,  // beside where there is room for it
    beside,     // the new workers start while the old ones serve
    in_place,   // one lane after another: the old worker ends first
};

/// Workers that we start ourselves, one per lane: native ones (`model`) or HTTP servers (`command`). Both are
/// empty in pools of attached ones.
struct WorkerConfig {
    ModelChoice model;
    std::string
        python;  // a name for PATH, or absolute; empty: unsaid. Once all is checked: absolute
    std::uint16_t slots_configured = 0;  // of native workers; 0: as the model says
    std::uint16_t batch_configured = 0;
    std::string command;  // for /bin/sh; has {port} or {socket}, maybe {gpu} {gpus} {lane}
    std::string folder;   // where it runs: the config file's, absolute; empty: that of `up`
    GpuChoice gpus;
    std::uint32_t gpus_per_lane = 1;
    std::uint32_t lanes = 0;  // in all; 0: as many as the GPUs make, four without a GPU
    Pin pin = Pin::index;
    std::vector<std::pair<std::string, std::string>> env;
    ReloadChoice reload = ReloadChoice::automatic;
    bool watch = false;                // native: a save reloads it
    bool warm = true;                  // Python: start from a process that has imported
    std::vector<std::string> preload;  // … these modules; empty: what the model imported
    friend bool operator==(const WorkerConfig&, const WorkerConfig&) = default;
};

/// Who gets to read what a model's exception says. BadInput is for everybody.
enum class ErrorsShown : std::uint8_t { to_loopback, full };

/// The lanes of a started pool (PoolSettings::lanes) are known when it is laid out over the GPUs.
struct PoolConfig {
    std::string name = "default";
    std::vector<WorkerUrl> attach;  // one lane each, in this order
    WorkerConfig worker;
    bool is_default = false;  // takes the jobs that name no pool; the only pool does so anyway
    std::vector<std::string> models;
    std::vector<AsideRule> aside;
    std::string health_path = "/health";
    ProofConfig proof;
    PoolSettings settings;
    ErrorsShown errors = ErrorsShown::to_loopback;

    [[nodiscard]] bool is_native() const { return worker.model.kind != ModelChoice::Kind::none; }
    [[nodiscard]] bool is_started() const { return is_native() || !worker.command.empty(); }
};

struct GateConfig {
    Address listen{"127.0.0.1", 8000};
    Bytes body_max{64 * mebibyte.count};
    Bytes answer_buffer{64 * mebibyte.count};
    std::string spool = "/var/tmp";
    std::uint32_t connections_max = 12000;
    Duration idle_timeout = 75s;
    Duration head_timeout = 10s;
    Bytes body_rate_min = kibibyte;    // per second, judged over rate_window; 0: none
    Bytes answer_rate_min = kibibyte;  // the same
    Duration rate_window = 10s;
    std::vector<std::string> allowed_hosts;    // names in lower case, without port and brackets
    std::vector<std::string> allowed_origins;  // scheme://host[:port] in lower case
    Duration shutdown_patience = 30s;
    friend bool operator==(const GateConfig&, const GateConfig&) = default;
};

struct LogConfig {
    std::string jobs;  // "": none; "-": JSON lines on stdout; else a file
    Bytes size_max{100 * mebibyte.count};
    std::uint32_t keep = 5;
    bool starts = false;
    Bytes lane_size_max{16 * mebibyte.count};  // of a lane's log, before it is put aside
    std::uint32_t lane_keep = 3;
    friend bool operator==(const LogConfig&, const LogConfig&) = default;
};

/// What is kept of workers that died.
struct CrashConfig {
    std::uint32_t keep = 50;  // reports; 0: none are written
    bool inputs = true;       // also the bodies of the jobs aboard
    Bytes input_max{16 * mebibyte.count};
    friend bool operator==(const CrashConfig&, const CrashConfig&) = default;
};

struct Mistake {
    std::string file;  // "": a flag's mistake
    int line = 0;      // 0: no line
    std::string key;   // "gate.listen", "--attach"; "": of the file as a whole
    std::string problem;
    friend bool operator==(const Mistake&, const Mistake&) = default;
};

/// file:line: key: problem, without the parts that are not there
[[nodiscard]] std::string text_of(const Mistake&);

/// Where a value was said.
struct Origin {
    int line = 0;
    std::string flag;  // "": in the file
};

/// Where all of them were, so that who finds a mistake later names the place as well.
struct Sources {
    std::string file;
    std::map<std::string, Origin> origins;  // by path: "gate.listen", "pool.chat.attach[1]"

    /// Of the value at `path`. What was not said has the line of the table around it.
    [[nodiscard]] Mistake mistake(std::string_view path, std::string problem) const;
};

struct Config {
    GateConfig gate;
    LogConfig log;
    CrashConfig crashes;
    std::vector<PoolConfig> pools;  // in the file's order; at least one
    Bytes bytes_max = gibibyte;
    std::uint32_t arriving_max = 256;
    std::uint32_t load_parallel_max = 0;  // 0: no limit
    Sources sources;
};

/// What the engine is told. `seed`: of the restart jitter.
[[nodiscard]] Settings engine_settings(const Config&, std::uint64_t seed);

using ConfigOrMistakes = std::expected<Config, std::vector<Mistake>>;

[[nodiscard]] ConfigOrMistakes parse_config(std::string_view text, std::string_view file_name);
[[nodiscard]] ConfigOrMistakes load_config(const std::string& path);

/// The flags that override keys. `attach`, `worker` and `model` make the pool "default", or replace the
/// workers of the file's only pool; `gpus` to `lanes` and `slots` are of the only pool too.
struct Flags {
    std::vector<std::string> attach;
    std::optional<std::string> worker;
    std::optional<std::string> model;  // "model.py:Digits", "./worker"; as `worker` otherwise
    std::optional<std::string> python;
    std::optional<std::string> gpus;  // "all", "none", "0,2"
    std::optional<std::uint32_t> gpus_per_lane;
    std::optional<std::uint32_t> lanes;
    std::optional<std::string> host;
    std::optional<std::uint16_t> port;
    std::optional<std::uint32_t> slots;
    std::optional<std::string> log_jobs;
    bool log_starts = false;
    bool watch = false;  // every pool with a model
};

[[nodiscard]] ConfigOrMistakes make_config(std::optional<std::string> path, const Flags&);

}  // namespace turnpike
