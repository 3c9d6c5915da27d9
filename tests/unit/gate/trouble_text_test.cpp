// Which sentence a cause becomes, and who reads what the worker said.
#include "gate/trouble_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "os/shortage.h"

namespace turnpike {
namespace {

using Are = WithheldWords::Are;

struct Row {
    Cause cause;
    std::string_view sentence;  // with `told`
    std::string_view without;   // without
    Audience first_audience;    // of what the worker said
};

const std::string no_descriptors = text_of(Shortage::descriptors);

/// Every cause, with what everybody may read about it.
const std::vector<Row> rows{
    {Cause::none, "", "", Audience::admins},
    {Cause::refused, "the connection was refused", "the connection was refused", Audience::admins},
    {Cause::not_connected, "no connection could be made: how", "no connection could be made",
     Audience::admins},
    {Cause::stale, "a reused connection was closed without an answer",
     "a reused connection was closed without an answer", Audience::admins},
    {Cause::no_answer, "the connection was closed without an answer",
     "the connection was closed without an answer", Audience::admins},
    {Cause::cut_off, "the connection was closed within the answer",
     "the connection was closed within the answer", Audience::admins},
    {Cause::not_valid_http, "how", "the answer is not valid HTTP", Audience::admins},
    {Cause::body_unreadable, "the request's body could not be read back from the spool",
     "the request's body could not be read back from the spool", Audience::admins},
    {Cause::body_not_stored, "its body could not be put into memory: how",
     "its body could not be put into memory", Audience::admins},
    {Cause::shortage, "how", no_descriptors, Audience::admins},
    {Cause::worker_died, "its worker died: how", "its worker died", Audience::admins},
    {Cause::worker_ended, "its worker was ended: how", "its worker was ended", Audience::admins},
    {Cause::worker_gives_up, "its worker says that it can't go on",
     "its worker says that it can't go on", Audience::admins},
    {Cause::bad_input, "", "", Audience::anybody},
    {Cause::model_failed, "", "", Audience::trusted}};

TEST(TroubleText, HasASentenceForEveryCause) {
    EXPECT_EQ(rows.size(), static_cast<std::size_t>(Cause::model_failed) + 1);
    for (const Row& row : rows) {
        EXPECT_EQ(sentence_of({.cause = row.cause, .told = "how", .said = "secret"}), row.sentence);
        EXPECT_EQ(sentence_of({.cause = row.cause, .said = "secret"}), row.without);
    }
}

TEST(TroubleText, TellsEveryClientTheSentenceAndNoneWhatAWorkerPrinted) {
    for (const Row& row : rows) {
        if (row.first_audience != Audience::admins) continue;
        for (const Audience client : {Audience::anybody, Audience::trusted}) {
            const Trouble trouble{.cause = row.cause, .told = "how", .said = "secret"};
            EXPECT_EQ(detail_for(client, trouble), row.sentence);
            const WithheldWords words = words_withheld_from(client, trouble);
            EXPECT_EQ(words.are, Are::last_output) << row.sentence;
            EXPECT_EQ(words.text.view(), "secret");
        }
    }
}

TEST(TroubleText, TellsTheModelsMessageToThoseWhoMayReadIt) {
    for (const Row& row : rows) {
        EXPECT_EQ(audience_of_words(row.cause), row.first_audience) << row.sentence;
        if (row.first_audience == Audience::admins) continue;
        for (const Audience client : {Audience::anybody, Audience::trusted}) {
            const Trouble trouble{.cause = row.cause, .told = "", .said = "ValueError: x"};
            const bool may_read = client >= row.first_audience;
            EXPECT_EQ(detail_for(client, trouble), may_read ? "ValueError: x" : "");
            const WithheldWords words = words_withheld_from(client, trouble);
            EXPECT_EQ(words.are, may_read ? Are::none : Are::message);
            EXPECT_EQ(words.text.view(), may_read ? "" : "ValueError: x");
        }
    }
}

TEST(TroubleText, WithholdsNothingIfTheWorkerSaidNothing) {
    for (const Row& row : rows)
        EXPECT_EQ(words_withheld_from(Audience::anybody, {.cause = row.cause, .told = "how"}).are,
                  Are::none);
}

TEST(TroubleText, IsAboutJobsThatEndedBecauseTheirAttemptFailed) {
    for (const EndReason reason :
         {EndReason::bad_input, EndReason::model_failed, EndReason::out_of_memory,
          EndReason::non_finite, EndReason::worker_died, EndReason::poison,
          EndReason::stream_broken})
        EXPECT_TRUE(is_caused_by_attempt(reason)) << name_of(reason);
    for (const EndReason reason :
         {EndReason::answered, EndReason::ran_too_long, EndReason::deadline_passed,
          EndReason::waited_too_long, EndReason::client_left, EndReason::known_poison,
          EndReason::shutting_down, EndReason::no_lane})
        EXPECT_FALSE(is_caused_by_attempt(reason)) << name_of(reason);
}

}  // namespace
}  // namespace turnpike
