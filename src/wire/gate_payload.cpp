// The frames from the gate, as a worker reads them.
#include "wire/header_lines.h"
#include "wire/payload.h"
#include "wire/reader.h"

namespace turnpike::wire {

namespace {

Welcome read_welcome(Reader& in) {
    Welcome welcome;
    welcome.version = in.u16_within(1, 65535);
    welcome.lane = in.u16();
    welcome.gpus = in.u16();
    welcome.slots = in.u16_within(0, width_max);
    welcome.batch = in.u16_within(0, width_max);
    const std::size_t pool = in.length16(text_max);
    welcome.pool = in.text(pool);
    return welcome;
}

Job read_job(Reader& in, const Header& header) {
    Job job{.id = header.id};
    job.attempt = in.u16_within(1, 65535);
    job.purpose = in.choice(Purpose::aside);
    in.zero8();
    job.batch_index = in.u16();
    job.batch_size = in.u16_within(1, width_max);
    in.require(job.batch_index < job.batch_size, Breach::value_out_of_bounds);
    const std::size_t name = in.length16(text_max);
    const std::size_t method = in.length16(text_max);
    const std::size_t target = in.length16(text_max);
    in.zero16();
    const std::size_t fields = in.length32(payload_max);
    job.name = in.text(name);
    job.method = in.text(method);
    job.target = in.text(target);
    job.fields = in.bytes(fields);
    in.require(are_lines(job.fields), Breach::fields_malformed);
    job.body = in.body(header.flags);
    return job;
}

}  // namespace

Breach read_payload(const Header& header, std::string_view payload, GateFrame& frame) {
    Reader in(payload);
    const std::uint64_t id = header.id;
    switch (Kind{header.kind}) {
        case Kind::welcome: frame = read_welcome(in); break;
        case Kind::job: frame = read_job(in, header); break;
        case Kind::cancel: frame = Cancel{.id = id}; break;
        case Kind::ping: frame = Ping{.id = id}; break;
        case Kind::ask_stacks: frame = AskStacks{.id = id}; break;
        case Kind::pause: frame = Pause{.id = id}; break;
        case Kind::resume: frame = Resume{.id = id}; break;
        case Kind::stop: frame = Stop{}; break;
        default: return Breach::kind_unknown;
    }
    return in.verdict();
}

}  // namespace turnpike::wire
