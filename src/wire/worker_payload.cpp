// The frames from a worker, as the gate reads them.
#include "wire/header_lines.h"
#include "wire/payload.h"
#include "wire/reader.h"

namespace turnpike::wire {

namespace {

constexpr std::uint16_t status_min = 200;
constexpr std::uint16_t status_max = 599;

Hello read_hello(Reader& in) {
    in.require(in.bytes(hello_magic.size()) == hello_magic, Breach::magic_wrong);
    Hello hello;
    hello.version_min = in.u16();
    hello.version_max = in.u16();
    in.require(hello.version_min <= hello.version_max, Breach::value_out_of_bounds);
    const std::size_t sdk = in.length16(text_max);
    hello.sdk = in.text(sdk);
    return hello;
}

Loading read_loading(Reader& in) {
    Loading loading;
    loading.phase = in.choice(LoadPhase::loading);
    in.zero8();
    loading.permille = in.permille();
    const std::size_t text = in.length16(text_max);
    loading.text = in.text(text);
    return loading;
}

Ready read_ready(Reader& in) {
    Ready ready;
    ready.slots = in.u16_within(1, width_max);
    ready.batch = in.u16_within(1, width_max);
    const std::uint8_t traits = in.u8();
    in.require((traits & ~(trait_example | trait_checks_proofs)) == 0, Breach::flags_unknown);
    ready.has_example = (traits & trait_example) != 0;
    ready.checks_proofs = (traits & trait_checks_proofs) != 0;
    in.zero8();
    const std::size_t type = in.length16(name_max);
    const std::size_t example = in.length32(inline_max);
    const std::size_t facts = in.length32(facts_max);
    ready.example_type = in.text(type);
    in.require(is_field_value(ready.example_type), Breach::fields_malformed);
    ready.example = in.bytes(example);
    ready.facts = in.text(facts);
    return ready;
}

Progress read_progress(Reader& in, std::uint64_t id) {
    Progress progress{.id = id};
    progress.permille = in.permille();
    const std::size_t text = in.length16(text_max);
    progress.text = in.text(text);
    return progress;
}

std::string_view read_answer_fields(Reader& in, std::size_t size) {
    const std::string_view fields = in.bytes(size);
    in.require(are_answer_fields(fields), Breach::fields_malformed);
    return fields;
}

Begin read_begin(Reader& in, std::uint64_t id) {
    Begin begin{.id = id};
    begin.status = in.u16_within(status_min, status_max);
    in.zero16();
    const std::size_t fields = in.length32(fields_max);
    begin.fields = in.bytes(fields);
    in.require(are_stream_fields(begin.fields), Breach::fields_malformed);
    return begin;
}

/// A done with status 0 only ends a stream, and may have no fields and no body.
Done read_done(Reader& in, const Header& header) {
    Done done{.id = header.id};
    done.status = in.u16();
    const bool is_bare = done.status == 0;
    in.require(is_bare || (done.status >= status_min && done.status <= status_max),
               Breach::value_out_of_bounds);
    in.require(!is_bare || header.flags == 0, Breach::descriptor_out_of_place);
    in.zero16();
    const std::size_t fields = in.length32(fields_max);
    in.require(!is_bare || in.left() == 0, Breach::size_wrong);
    done.fields = read_answer_fields(in, fields);
    done.body = in.body(header.flags);
    return done;
}

Failed read_failed(Reader& in, std::uint64_t id) {
    Failed failed{.id = id};
    failed.why = in.choice(FailWhy::cancelled);
    in.require(failed.why >= FailWhy::bad_input, Breach::value_out_of_bounds);
    in.zero8();
    const std::size_t type = in.length16(name_max);
    const std::size_t message = in.length32(message_max);
    failed.type = in.text(type);
    failed.message = in.text(message);
    return failed;
}

Log read_log(Reader& in) {
    Log log;
    log.level = in.choice(LogLevel::error);
    in.zero8();
    log.text = in.text_rest();
    return log;
}

}  // namespace

Breach read_payload(const Header& header, std::string_view payload, WorkerFrame& frame) {
    Reader in(payload);
    const std::uint64_t id = header.id;
    switch (Kind{header.kind}) {
        case Kind::hello: frame = read_hello(in); break;
        case Kind::loading: frame = read_loading(in); break;
        case Kind::ready: frame = read_ready(in); break;
        case Kind::progress: frame = read_progress(in, id); break;
        case Kind::begin: frame = read_begin(in, id); break;
        case Kind::chunk: frame = Chunk{.id = id, .bytes = in.rest()}; break;
        case Kind::done: frame = read_done(in, header); break;
        case Kind::failed: frame = read_failed(in, id); break;
        case Kind::pong: frame = Pong{.id = id}; break;
        case Kind::log: frame = read_log(in); break;
        case Kind::stacks: frame = Stacks{.id = id, .text = in.text_rest()}; break;
        default: return Breach::kind_unknown;
    }
    return in.verdict();
}

}  // namespace turnpike::wire
