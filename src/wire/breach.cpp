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
        case Breach::kind_unknown: return {"kind_unknown", "A frame is of an unknown kind."};
        case Breach::flags_unknown: return {"flags_unknown", "A frame has unknown flags."};
        case Breach::not_zero: return {"not_zero", "A part of a frame that must be 0 is not."};
        case Breach::size_too_large:
            return {"size_too_large", "A frame is larger than its kind may be."};
        case Breach::size_wrong:
            return {"size_wrong", "A frame is shorter or longer than its parts."};
        case Breach::length_too_large:
            return {"length_too_large", "A part of a frame is longer than it may be."};
        case Breach::value_out_of_bounds:
            return {"value_out_of_bounds", "A number in a frame is out of its bounds."};
        case Breach::not_utf8: return {"not_utf8", "A text in a frame is not UTF-8."};
        case Breach::magic_wrong:
            return {"magic_wrong", "What came first is not the greeting of this protocol."};
        case Breach::fields_malformed:
            return {"fields_malformed",
                    "The header lines are malformed, or one of them frames the answer."};
        case Breach::descriptor_out_of_place:
            return {"descriptor_out_of_place", "A frame without a body announces a descriptor."};
        case Breach::descriptor_unannounced:
            return {"descriptor_unannounced", "A descriptor came that no frame announces."};
        case Breach::descriptor_missing:
            return {"descriptor_missing", "A frame announces a descriptor that did not come."};
        case Breach::descriptor_unfit:
            return {"descriptor_unfit",
                    "A descriptor is no memfd with all seals, or is not as long as announced."};
        case Breach::hello_missing: return {"hello_missing", "The first frame is not hello."};
        case Breach::hello_again: return {"hello_again", "There is a second hello."};
        case Breach::no_common_version:
            return {"no_common_version",
                    "The worker knows no version of the protocol that we know."};
        case Breach::loading_after_ready:
            return {"loading_after_ready", "The worker is loading again after it was ready."};
        case Breach::ready_again: return {"ready_again", "There is a second ready."};
        case Breach::job_not_aboard:
            return {"job_not_aboard", "A frame is about a job that is not aboard, or has ended."};
        case Breach::begin_again: return {"begin_again", "An answer begins twice."};
        case Breach::chunk_before_begin:
            return {"chunk_before_begin", "There is a chunk of an answer that has not begun."};
        case Breach::status_missing:
            return {"status_missing", "An answer that never began is done without a status."};
        case Breach::status_again:
            return {"status_again", "An answer that began is done with a second status."};
        case Breach::pong_unasked: return {"pong_unasked", "There is a pong without a ping."};
        case Breach::stacks_unasked:
            return {"stacks_unasked", "There are stacks that nobody asked for."};
        case Breach::pause_ignored:
            return {"pause_ignored", "The worker goes on sending chunks after pause."};
        case Breach::length_broken:
            return {"length_broken", "An answer is not as long as its Content-Length says."};
    }
    return {"none", "Nothing is wrong."};
}

}  // namespace

std::string_view sentence_of(Breach breach) { return words_of(breach).sentence; }
std::string_view name_of(Breach breach) { return words_of(breach).name; }

}  // namespace turnpike::wire
