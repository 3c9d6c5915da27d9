// The bytes of a gate, as a worker reads them.
#include "fuzz/wire_properties.h"

namespace {

using namespace turnpike::wire;
using fuzz::require;

void require_within_bounds(const Job& job) {
    require(job.id != 0 && job.attempt >= 1, "a job has a number and an attempt");
    require(job.batch_size >= 1 && job.batch_size <= width_max, "a batch has bounds");
    require(job.batch_index < job.batch_size, "a member is within its batch");
    require(job.purpose <= Purpose::aside, "a purpose has a name");
    require(job.fields.empty() || job.fields.ends_with("\r\n"), "lines end with CRLF");
    require(job.fields.find('\0') == std::string_view::npos, "no line has a NUL");
    require(!job.body.is_in_descriptor || job.body.bytes.empty(), "a body is in one place");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view raw{reinterpret_cast<const char*>(data), size};
    fuzz::require_frames<GateFrame>(raw);
    Decoder<GateFrame> decoder;
    decoder.push(raw, [](const GateFrame& frame) {
        if (const Job* const job = std::get_if<Job>(&frame)) require_within_bounds(*job);
        return true;
    });
    return 0;
}
