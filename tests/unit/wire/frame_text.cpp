#include "tests/unit/wire/frame_text.h"

namespace turnpike::wire::test {

namespace {

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

template <class Number>
    requires(std::is_integral_v<Number> || std::is_enum_v<Number>)
std::string word(Number number) {
    return std::to_string(static_cast<std::uint64_t>(number));
}
std::string word(std::string_view text) { return quoted(text); }
std::string word(const BodyPart& body) {
    return body.is_in_descriptor ? "descriptor " + word(body.in_descriptor) : quoted(body.bytes);
}

template <class... Parts>
std::string line(std::string words, const Parts&... parts) {
    ((words += ' ' + word(parts)), ...);
    return words;
}

std::string tell(const Welcome& f) {
    return line("welcome", f.version, f.lane, f.gpus, f.slots, f.batch, f.pool);
}
std::string tell(const Job& f) {
    return line("job", f.id, f.attempt, f.purpose, f.batch_index, f.batch_size, f.name, f.method,
                f.target, f.fields, f.body);
}
std::string tell(const Cancel& f) { return line("cancel", f.id); }
std::string tell(const Ping& f) { return line("ping", f.id); }
std::string tell(const AskStacks& f) { return line("stacks?", f.id); }
std::string tell(const Pause& f) { return line("pause", f.id); }
std::string tell(const Resume& f) { return line("resume", f.id); }
std::string tell(const Stop&) { return "stop"; }

std::string tell(const Hello& f) { return line("hello", f.version_min, f.version_max, f.sdk); }
std::string tell(const Loading& f) { return line("loading", f.phase, f.permille, f.text); }
std::string tell(const Ready& f) {
    return line("ready", f.slots, f.batch, f.has_example, f.checks_proofs, f.example_type,
                f.example, f.facts);
}
std::string tell(const Progress& f) { return line("progress", f.id, f.permille, f.text); }
std::string tell(const Begin& f) { return line("begin", f.id, f.status, f.fields); }
std::string tell(const Chunk& f) { return line("chunk", f.id, f.bytes); }
std::string tell(const Done& f) { return line("done", f.id, f.status, f.fields, f.body); }
std::string tell(const Failed& f) { return line("failed", f.id, f.why, f.type, f.message); }
std::string tell(const Pong& f) { return line("pong", f.id); }
std::string tell(const Log& f) { return line("log", f.level, f.text); }
std::string tell(const Stacks& f) { return line("stacks", f.id, f.text); }

}  // namespace

std::string text_of(const GateFrame& frame) {
    return std::visit([](const auto& one) { return tell(one); }, frame);
}

std::string text_of(const WorkerFrame& frame) {
    return std::visit([](const auto& one) { return tell(one); }, frame);
}

}  // namespace turnpike::wire::test
