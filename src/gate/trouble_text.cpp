#include "gate/trouble_text.h"

#include "gate/problem.h"
#include "os/shortage.h"

namespace turnpike {

namespace {

std::string with_details(std::string text, const std::string& told) {
    return told.empty() ? text : text + ": " + told;
}

/// True if the words are the model's message about the job, not what its process printed.
bool is_message(Cause cause) { return audience_of_words(cause) < Audience::admins; }

}  // namespace

std::string sentence_of(const Trouble& trouble) {
    switch (trouble.cause) {
        case Cause::none:
        case Cause::bad_input:
        case Cause::model_failed: return "";
        case Cause::refused: return "the connection was refused";
        case Cause::not_connected: return with_details("no connection could be made", trouble.told);
        case Cause::stale: return "a reused connection was closed without an answer";
        case Cause::no_answer: return "the connection was closed without an answer";
        case Cause::cut_off: return "the connection was closed within the answer";
        case Cause::not_valid_http:
            return trouble.told.empty() ? "the answer is not valid HTTP" : trouble.told;
        case Cause::body_unreadable:
            return "the request's body could not be read back from the spool";
        case Cause::body_not_stored:
            return with_details("its body could not be put into memory", trouble.told);
        case Cause::shortage:
            return trouble.told.empty() ? text_of(Shortage::descriptors) : trouble.told;
        case Cause::worker_died: return with_details("its worker died", trouble.told);
        case Cause::worker_ended: return with_details("its worker was ended", trouble.told);
        case Cause::worker_gives_up: return "its worker says that it can't go on";
    }
    return "";
}

std::string detail_for(Audience client, const Trouble& trouble) {
    if (!is_message(trouble.cause)) return sentence_of(trouble);
    return client >= audience_of_words(trouble.cause) ? trouble.said : "";
}

WithheldWords words_withheld_from(Audience client, const Trouble& trouble) {
    if (trouble.said.empty() || client >= audience_of_words(trouble.cause)) return {};
    WithheldWords words{.are = is_message(trouble.cause) ? WithheldWords::Are::message
                                                         : WithheldWords::Are::last_output};
    words.text.assign(trouble.said);
    return words;
}

bool is_caused_by_attempt(EndReason reason) {
    return reason == EndReason::bad_input || reason == EndReason::worker_died ||
           reason == EndReason::poison || reason == EndReason::shortage ||
           reason == EndReason::stream_broken || is_model_failure(reason);
}

}  // namespace turnpike
