#include "wire/decode.h"

#include <algorithm>

#include "wire/payload.h"
#include "wire/reader.h"

namespace turnpike::wire {

namespace {

template <class Frame>
const Shape* shape_of(std::uint8_t kind) {
    if constexpr (std::same_as<Frame, GateFrame>)
        return shape_in(gate_shapes, kind);
    else
        return shape_in(worker_shapes, kind);
}

Header read_header(std::string_view frame) {
    Reader in(frame);
    Header header;
    header.size = in.u32();
    header.kind = in.u8();
    header.flags = in.u8();
    header.zero = in.u16();
    header.id = in.u64();
    return header;
}

Breach check(const Header& header, const Shape* shape) {
    if (shape == nullptr) return Breach::kind_unknown;
    if ((header.flags & ~flag_descriptor) != 0) return Breach::flags_unknown;
    if (header.flags != 0 && !shape->has_body) return Breach::descriptor_out_of_place;
    if (header.zero != 0) return Breach::not_zero;
    if (shape->id == IdIs::zero && header.id != 0) return Breach::not_zero;
    if (shape->id == IdIs::job && header.id == 0) return Breach::value_out_of_bounds;
    if (header.size > shape->most) return Breach::size_too_large;
    if (header.size < shape->least) return Breach::size_wrong;
    return Breach::none;
}

}  // namespace

template <class Frame>
Breach Decoder<Frame>::push(std::string_view bytes, Take<Frame> take) {
    if (is_stopped_) return breach_;
    while (true) {
        const std::string_view whole = next_frame(bytes);
        if (whole.empty()) return breach_;
        Frame frame;
        breach_ = read_payload(read_header(whole), whole.substr(header_size), frame);
        is_stopped_ = true;  // before `take`, which may destroy the decoder and return false
        if (breach_ != Breach::none) return breach_;
        if (!take(frame)) return Breach::none;
        is_stopped_ = false;
        if (whole.data() == pending_.data()) pending_.clear();
    }
}

/// Returns the next frame. Returns an empty view if the frame is incomplete or its header has a
/// breach.
template <class Frame>
std::string_view Decoder<Frame>::next_frame(std::string_view& bytes) {
    if (pending_.empty() && bytes.size() >= header_size) {
        const std::size_t size = judge_header(bytes);
        if (is_stopped_) return {};
        if (bytes.size() >= size) {
            const std::string_view frame = bytes.substr(0, size);
            bytes.remove_prefix(size);
            return frame;
        }
    }
    if (!fill_pending(bytes, header_size)) return {};
    const std::size_t size = judge_header(pending_);
    if (is_stopped_ || !fill_pending(bytes, size)) return {};
    return pending_;
}

/// Checks the header. Returns the size of the whole frame.
template <class Frame>
std::size_t Decoder<Frame>::judge_header(std::string_view frame) {
    const Header header = read_header(frame);
    kind_ = header.kind;
    breach_ = check(header, shape_of<Frame>(header.kind));
    is_stopped_ = breach_ != Breach::none;
    return header_size + header.size;
}

template <class Frame>
bool Decoder<Frame>::fill_pending(std::string_view& bytes, std::size_t size) {
    if (pending_.size() < size) {
        const std::size_t part = std::min(bytes.size(), size - pending_.size());
        if (part > 0) pending_.reserve(size);
        pending_.append(bytes.substr(0, part));
        bytes.remove_prefix(part);
    }
    return pending_.size() >= size;
}

template class Decoder<GateFrame>;
template class Decoder<WorkerFrame>;

}  // namespace turnpike::wire
