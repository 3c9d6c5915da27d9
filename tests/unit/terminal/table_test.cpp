#include "terminal/table.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

TEST(Table, MakesColumnsAsWideAsTheirWidestCell) {
    const Table table{.columns = {{"NAME"}, {"N", Column::Side::right}, {"WHY"}},
                      .rows = {{{"a"}, {"1"}, {"short"}}, {{"longer"}, {"1000"}, {""}}}};
    EXPECT_EQ(text_of(table, {}),
              "NAME       N  WHY\n"
              "a          1  short\n"
              "longer  1000  -\n");
}

TEST(Table, IsNothingWithoutRows) {
    EXPECT_EQ(text_of({.columns = {{"NAME"}}, .rows = {}}, {}), "");
}

TEST(Table, CountsNoColourCodesAsWidth) {
    const Table table{.columns = {{"STATE"}, {"X"}},
                      .rows = {{{"ready", Paint::green}, {"1"}}, {{"no", Paint::red}, {"2"}}}};
    EXPECT_EQ(text_of(table, {.colours = true}),
              "\x1b[2mSTATE\x1b[0m  \x1b[2mX\x1b[0m\n"
              "\x1b[32mready\x1b[0m  1\n"
              "\x1b[31mno\x1b[0m     2\n");
}

TEST(Table, HasNoColoursUnlessTheyAreWanted) {
    EXPECT_EQ(painted("x", Paint::red, {}), "x");
    EXPECT_EQ(painted("x", Paint::plain, {.colours = true}), "x");
}

TEST(Table, IsCutWhereItMayBeToFitTheTerminal) {
    Table table{.columns = {{"ID"}, {"WORKER", Column::Side::left, 6}, {"WHY"}},
                .rows = {{{"12345678"}, {"python3 serve.py"}, {"because"}}}};
    table.columns[2].width_min = 4;
    const auto shown = [&table](std::size_t columns) {
        return text_of(table, {.columns = columns});
    };
    EXPECT_EQ(shown(35), "ID        WORKER            WHY\n12345678  python3 serve.py  because\n");
    EXPECT_EQ(shown(30), "ID        WORKER       WHY\n12345678  python3 ...  because\n");
    EXPECT_EQ(shown(24), "ID        WORKER  WHY\n12345678  pyt...  bec...\n");
    EXPECT_EQ(shown(10), "ID        WORKER  WHY\n12345678  pyt...  b...\n") << "but no further";
    EXPECT_EQ(shown(0), shown(1000));
}

TEST(Table, LeavesOutWhatIsUsualWhereCuttingIsNotEnough) {
    Table table{.columns = {{"JOB"},
                            {"TRIES", Column::Side::right, 0, "1"},
                            {"FAILED", Column::Side::right, 0, "0"},
                            {"WHY", Column::Side::left, 4}},
                .rows = {{{"abc"}, {"1"}, {"0"}, {"because"}}}};
    const auto titles = [&table](std::size_t columns) {
        const std::string text = text_of(table, {.columns = columns});
        return text.substr(0, text.find('\n'));
    };
    EXPECT_EQ(titles(0), "JOB  TRIES  FAILED  WHY");
    EXPECT_EQ(titles(24), "JOB  TRIES  FAILED  WHY") << "cut";
    EXPECT_EQ(titles(23), "JOB  TRIES  WHY") << "the last one first";
    EXPECT_EQ(titles(10), "JOB  WHY");
    table.rows.push_back({{"def"}, {"1"}, {"2"}, {"because"}});
    EXPECT_EQ(titles(23), "JOB  FAILED  WHY");
}

TEST(Table, AlignsByColumnsOfTheTerminal) {
    const Table table{.columns = {{"A"}, {"B"}},
                      .rows = {{{"caf\u00e9"}, {"1"}}, {{"abc"}, {"2"}}}};
    EXPECT_EQ(text_of(table, {}), "A     B\ncaf\u00e9  1\nabc   2\n");
}

TEST(Table, CanLeaveOutColumnsWithoutText) {
    const Table table{.columns = {{"A"}, {"B"}, {"C"}},
                      .rows = {{{"1"}, {""}, {""}}, {{""}, {""}, {"2"}}}};
    EXPECT_EQ(text_of(without_empty_columns(table), {}), "A  C\n1  -\n-  2\n");
    EXPECT_EQ(text_of(without_empty_columns({.columns = {{"A"}}, .rows = {}}), {}), "");
}

}  // namespace
}  // namespace turnpike
