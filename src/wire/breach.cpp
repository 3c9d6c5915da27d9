#include "wire/breach.h"

namespace turnpike::wire {

namespace {

struct Words {
    std::string_view name;
    std::string_view sentence;
};

Words words_of(Breach breach) {
    switch (breach) {
        case Breach::none: return {"none", "Nothing is wrong."};
        case Breach::kind_unknown: return {"kind_unknown", "A frame has an unknown kind."};
        case Breach::flags_unknown: return {"flags_unknown", "A frame has unknown flags."};
        case Breach::not_zero: return {"not_zero", "A part of a frame that must be 0 is not 0."};
        case Breach::size_too_large:
            return {"size_too_large", "A frame is larger than its kind allows."};
        case Breach::size_wrong:
            return {"size_wrong", "The size of a frame does not match its parts."};
        case Breach::length_too_large:
            return {"length_too_large", "A part of a frame is longer than allowed."};
        case Breach::value_out_of_bounds:
            return {"value_out_of_bounds", "A number in a frame is out of bounds."};
        case Breach::not_utf8: return {"not_utf8", "A text in a frame is not UTF-8."};
        case Breach::magic_wrong:
            return {"magic_wrong", "The hello does not begin with \"turnpike\"."};
        case Breach::fields_malformed:
            return {"fields_malformed",
                    "A header line is malformed or not allowed there (Content-Length, "
                    "Transfer-Encoding, Connection)."};
        case Breach::descriptor_out_of_place:
            return {"descriptor_out_of_place",
                    "A frame that can have no body announces a descriptor."};
        case Breach::descriptor_unannounced:
            return {"descriptor_unannounced", "A descriptor came that no frame announced."};
        case Breach::descriptor_missing:
            return {"descriptor_missing", "A frame announced a descriptor, but none came with it."};
        case Breach::descriptor_unfit:
            return {"descriptor_unfit",
                    "A descriptor is not a memfd with all seals, or does not have the announced "
                    "length."};
        case Breach::hello_missing: return {"hello_missing", "The first frame is not hello."};
        case Breach::hello_again: return {"hello_again", "The worker sent hello twice."};
        case Breach::no_common_version:
            return {"no_common_version",
                    "The worker and the gate have no protocol version in common."};
        case Breach::loading_after_ready:
            return {"loading_after_ready", "The worker sent loading after ready."};
        case Breach::ready_again: return {"ready_again", "The worker sent ready twice."};
        case Breach::job_not_aboard:
            return {"job_not_aboard",
                    "A frame is about a job that was never sent or has already ended."};
        case Breach::begin_again:
            return {"begin_again", "The worker sent begin twice for one job."};
        case Breach::chunk_before_begin:
            return {"chunk_before_begin", "The worker sent a chunk before begin."};
        case Breach::status_missing:
            return {"status_missing", "A done without a begin has no status."};
        case Breach::status_again:
            return {"status_again", "A done after begin has a second status."};
        case Breach::pong_unasked:
            return {"pong_unasked", "The worker sent a pong without a ping."};
        case Breach::stacks_unasked:
            return {"stacks_unasked", "The worker sent stacks that the gate did not ask for."};
        case Breach::pause_ignored:
            return {"pause_ignored", "The worker kept sending chunks after pause."};
        case Breach::length_broken:
            return {"length_broken", "The length of an answer differs from its Content-Length."};
    }
    return {"none", "Nothing is wrong."};
}

}  // namespace

std::string_view sentence_of(Breach breach) { return words_of(breach).sentence; }
std::string_view name_of(Breach breach) { return words_of(breach).name; }

}  // namespace turnpike::wire
