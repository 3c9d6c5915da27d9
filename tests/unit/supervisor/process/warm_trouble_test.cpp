#include "supervisor/process/warm_trouble.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

TEST(WarmTrouble, NamesTheWarmProcessAsItsReaderNeeds) {
    const WarmTrouble death{.why = WhyCold::died, .details = "exit code 3"};
    EXPECT_EQ(sentence_of(death, "it"), "it died: exit code 3");
    EXPECT_EQ(sentence_of(death, "the warm process"), "the warm process died: exit code 3");
    EXPECT_EQ(sentence_of({}, "the warm process"), "the warm process did not fork");
}

TEST(WarmTrouble, RepeatsARefusalInTheWordsOfTheWarmProcess) {
    const WarmTrouble refusal{.why = WhyCold::refused, .details = "it is a fixture: a cold start"};
    EXPECT_EQ(sentence_of(refusal, "the warm process"), refusal.details);
}

TEST(WarmTrouble, HasASentenceForEveryReason) {
    using enum WhyCold;
    for (const WhyCold why : {unknown, no_descriptors, not_started, still_importing, import_ended,
                              garbled, refused, died, silent, not_ready, too_large, not_asked}) {
        const std::string sentence = sentence_of({.why = why, .details = " why"}, "it");
        EXPECT_NE(sentence, "") << static_cast<int>(why);
        EXPECT_NE(sentence, "it") << static_cast<int>(why);
    }
}

}  // namespace
}  // namespace turnpike
