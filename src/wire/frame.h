// The frames between the gate and a native worker, as values. docs/worker-protocol.md is the
// contract.
//
// Texts and bytes are views: into the bytes that were decoded, or into the data to send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

namespace turnpike::wire {

inline constexpr std::uint16_t version = 1;
inline constexpr std::size_t header_size = 16;
inline constexpr std::size_t payload_max = 1280 * 1024;
inline constexpr std::size_t inline_max = 1024 * 1024;  // for a body, a chunk, an example
inline constexpr std::size_t fields_max = 64 * 1024;
inline constexpr std::size_t message_max = 64 * 1024;  // also for a log line
inline constexpr std::size_t stacks_max = 256 * 1024;
inline constexpr std::size_t facts_max = 16 * 1024;
inline constexpr std::size_t name_max = 255;  // for a content type or an exception's type
inline constexpr std::uint16_t permille_unknown = 65535;
inline constexpr std::uint16_t width_max = 1024;  // for slots and for a batch

/// A body: either bytes in the frame, or a length, if the body is in a descriptor that comes with
/// the frame.
struct BodyPart {
    std::string_view bytes;
    std::uint64_t in_descriptor = 0;  // length of the body in the descriptor
    bool is_in_descriptor = false;
};

// ── from the gate ────────────────────────────────────────────────────────────────────────────────

struct Welcome {
    std::uint16_t version = 1;
    std::uint16_t lane = 0;
    std::uint16_t gpus = 0;
    std::uint16_t slots = 0;  // 0 means the model decides
    std::uint16_t batch = 0;
    std::string_view pool;
};

enum class Purpose : std::uint8_t { job, proof, aside };

struct Job {
    std::uint64_t id = 0;
    std::uint16_t attempt = 1;
    Purpose purpose = Purpose::job;
    std::uint16_t batch_index = 0;
    std::uint16_t batch_size = 1;
    std::string_view name;
    std::string_view method;
    std::string_view target;
    std::string_view fields;
    BodyPart body;
};

struct Cancel {
    std::uint64_t id = 0;
};
struct Ping {
    std::uint64_t id = 0;
};
struct AskStacks {
    std::uint64_t id = 0;
};
struct Pause {
    std::uint64_t id = 0;
};
struct Resume {
    std::uint64_t id = 0;
};
struct Stop {};

using GateFrame = std::variant<Welcome, Job, Cancel, Ping, AskStacks, Pause, Resume, Stop>;

// ── from the worker ──────────────────────────────────────────────────────────────────────────────

struct Hello {
    std::uint16_t version_min = 1;
    std::uint16_t version_max = 1;
    std::string_view sdk;
};

enum class LoadPhase : std::uint8_t { importing, loading };

struct Loading {
    LoadPhase phase = LoadPhase::importing;
    std::uint16_t permille = permille_unknown;
    std::string_view text;
};

struct Ready {
    std::uint16_t slots = 1;
    std::uint16_t batch = 1;
    bool has_example = false;
    bool checks_proofs = false;
    std::string_view example_type;
    std::string_view example;
    std::string_view facts;
};

struct Progress {
    std::uint64_t id = 0;
    std::uint16_t permille = permille_unknown;
    std::string_view text;
};

struct Begin {
    std::uint64_t id = 0;
    std::uint16_t status = 200;
    std::string_view fields;
};

struct Chunk {
    std::uint64_t id = 0;
    std::string_view bytes;
};

struct Done {
    std::uint64_t id = 0;
    std::uint16_t status = 0;  // 0 after `begin`, which had the status
    std::string_view fields;
    BodyPart body;
};

enum class FailWhy : std::uint8_t {
    bad_input = 1,
    exception = 2,
    out_of_memory = 3,
    non_finite = 4,
    unhealthy = 5,
    cancelled = 6,
};

struct Failed {
    std::uint64_t id = 0;
    FailWhy why = FailWhy::exception;
    std::string_view type;
    std::string_view message;
};

struct Pong {
    std::uint64_t id = 0;
};

enum class LogLevel : std::uint8_t { debug, info, warning, error };

struct Log {
    LogLevel level = LogLevel::info;
    std::string_view text;
};

struct Stacks {
    std::uint64_t id = 0;
    std::string_view text;
};

using WorkerFrame =
    std::variant<Hello, Loading, Ready, Progress, Begin, Chunk, Done, Failed, Pong, Log, Stacks>;

}  // namespace turnpike::wire
