// The agenda is ordered by time, then by tie, then by the order of adding.
#include "sim/agenda.h"

#include <gtest/gtest.h>

#include <string>

namespace turnpike::sim {
namespace {

constexpr Instant at(Duration since) { return Instant{} + since; }

TEST(Agenda, IsOrderedByTimeThenTieThenTurn) {
    std::string done;
    Agenda agenda;
    agenda.add(at(2s), 0, [&] { done += 'd'; });
    agenda.add(at(1s), 7, [&] { done += 'b'; });
    agenda.add(at(1s), 7, [&] { done += 'c'; });
    agenda.add(at(1s), 3, [&] { done += 'a'; });
    while (agenda.next() != never) agenda.pop()();
    EXPECT_EQ(done, "abcd");
}

TEST(Agenda, SaysWhenTheNextThingComes) {
    Agenda agenda;
    EXPECT_EQ(agenda.next(), never);
    agenda.add(at(3s), 9, [] {});
    EXPECT_EQ(agenda.next(), at(3s));
    EXPECT_EQ(agenda.next_tie(), 9U);
}

}  // namespace
}  // namespace turnpike::sim
