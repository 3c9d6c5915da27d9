// The table of keys, and the example file that is made from it.
#include "config/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "config/assign.h"
#include "config/example.h"
#include "config/tree.h"
#include "tests/unit/config/mistakes.h"

namespace turnpike {
namespace {

using testing::IsEmpty;

std::string path_of(const Section& section, const Key& key) {
    return std::string(section.prefix).append(key.name);
}

std::string example_file() {
    std::ifstream file(TURNPIKE_EXAMPLE_FILE);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Uncomments every value: "#key" → "key". "# prose" stays.
std::string uncommented(const std::string& text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool begins_line = i == 0 || text[i - 1] == '\n';
        const bool hides_value = i + 1 < text.size() && text[i + 1] != ' ' && text[i + 1] != '\n';
        if (text[i] == '#' && begins_line && hides_value) continue;
        result += text[i];
    }
    return result;
}

bool takes(const Key& key, auto value) {
    Draft draft;
    return assign(key, Node{.value = std::move(value)}, draft).empty();
}

// ── bounds ───────────────────────────────────────────────────────────────────────────────────────

struct TakesItsBoundsOnly {
    const Key& key;

    void operator()(const TimeKey& time) const {
        EXPECT_LE(time.max, 720h) << key.name;
        EXPECT_TRUE(takes(key, text_of(time.min))) << key.name;
        EXPECT_TRUE(takes(key, text_of(time.max))) << key.name;
        EXPECT_FALSE(takes(key, text_of(time.max + 1ns))) << key.name;
        if (time.min > Duration::zero()) {
            EXPECT_FALSE(takes(key, text_of(time.min - 1ns))) << key.name;
        }
    }
    void operator()(const SizeKey& size) const {
        EXPECT_TRUE(takes(key, text_of(size.min))) << key.name;
        EXPECT_TRUE(takes(key, text_of(size.max))) << key.name;
        EXPECT_TRUE(takes(key, static_cast<std::int64_t>(size.max.count))) << key.name;
        EXPECT_FALSE(takes(key, text_of(size.max + Bytes{1}))) << key.name;
        EXPECT_FALSE(takes(key, static_cast<std::int64_t>(size.min.count) - 1)) << key.name;
    }
    void operator()(const CountKey& count) const {
        EXPECT_TRUE(takes(key, std::int64_t{count.min})) << key.name;
        EXPECT_TRUE(takes(key, std::int64_t{count.max})) << key.name;
        EXPECT_FALSE(takes(key, std::int64_t{count.max} + 1)) << key.name;
        EXPECT_FALSE(takes(key, std::int64_t{count.min} - 1)) << key.name;
    }
    void operator()(const NumberKey& number) const {
        const double infinity = std::numeric_limits<double>::infinity();
        EXPECT_TRUE(takes(key, number.min)) << key.name;
        EXPECT_TRUE(takes(key, number.max)) << key.name;
        EXPECT_FALSE(takes(key, std::nextafter(number.max, infinity))) << key.name;
        EXPECT_FALSE(takes(key, std::nextafter(number.min, -infinity))) << key.name;
        EXPECT_FALSE(takes(key, std::nan(""))) << key.name;
        EXPECT_FALSE(takes(key, infinity)) << key.name;
    }
    void operator()(const FlagKey&) const { EXPECT_TRUE(takes(key, true)) << key.name; }
    void operator()(const TextKey&) const { EXPECT_FALSE(takes(key, true)) << key.name; }
    void operator()(const ListKey& list) const {
        EXPECT_TRUE(takes(key, List{})) << key.name;
        EXPECT_FALSE(takes(key, List(list.max + 1, Node{.value = "GET /x"}))) << key.name;
    }
    void operator()(const GpusKey& gpus) const {
        EXPECT_TRUE(takes(key, List(gpus.max, Node{.value = 1}))) << key.name;
        EXPECT_FALSE(takes(key, List(gpus.max + 1, Node{.value = 1}))) << key.name;
        EXPECT_FALSE(takes(key, List{})) << key.name;
    }
    void operator()(const TableKey& table) const {
        Table entries;
        for (std::size_t i = 0; i < table.max; ++i)
            entries.push_back({"N" + std::to_string(i), Node{.value = "v"}});
        EXPECT_TRUE(takes(key, entries)) << key.name;
        entries.push_back({"M", Node{.value = "v"}});
        EXPECT_FALSE(takes(key, entries)) << key.name;
        EXPECT_TRUE(takes(key, Table{})) << key.name;
    }
};

TEST(Keys, TakeTheirBoundsAndNothingBeyond) {
    for (const Section& section : sections())
        for (const Key& key : section.keys) std::visit(TakesItsBoundsOnly{key}, key.kind);
}

TEST(Keys, AreFoundByTheirPath) {
    std::size_t count = 0;
    for (const Section& section : sections()) {
        for (const Key& key : section.keys) {
            EXPECT_EQ(find_key(path_of(section, key)), &key) << path_of(section, key);
            ++count;
        }
    }
    EXPECT_GT(count, 50U);
    EXPECT_EQ(find_key("gate"), nullptr);
    EXPECT_EQ(find_key(""), nullptr);
    EXPECT_TRUE(is_group("pool.*.health"));
    EXPECT_FALSE(is_group("pool.*.heal"));
    EXPECT_FALSE(is_group("gate.listen"));
}

TEST(Keys, AValueWithFlawsChangesNothing) {
    Draft draft;
    EXPECT_FALSE(assign(*find_key("gate.listen"), Node{.value = "nowhere"}, draft).empty());
    EXPECT_FALSE(assign(*find_key("gate.head_timeout"), Node{.value = "9d"}, draft).empty());
    EXPECT_EQ(draft.config.gate, GateConfig{});
}

// ── the example ──────────────────────────────────────────────────────────────────────────────────

TEST(Example, IsWhatTheTableSays) {
    const bool is_same = example_file() == example_text();
    const std::string wanted = testing::TempDir() + "turnpike.example.toml";
    if (!is_same) std::ofstream(wanted) << example_text();
    EXPECT_TRUE(is_same) << "the table of keys has changed; read " << wanted
                         << " and copy it to " TURNPIKE_EXAMPLE_FILE;
}

TEST(Example, HasALineForEveryKey) {
    const std::string text = '\n' + example_file();
    for (const Section& section : sections()) {
        for (const Key& key : section.keys) {
            const std::string line = std::string(key.name) + " = " + shown_value(key, {}) + "  # " +
                                     bounds_of(key) + '\n';
            const bool is_there = text.find("\n#" + line) != std::string::npos ||
                                  text.find('\n' + line) != std::string::npos;
            EXPECT_TRUE(is_there) << path_of(section, key);
        }
    }
}

TEST(Example, FitsOnAScreen) {
    std::ifstream file(TURNPIKE_EXAMPLE_FILE);
    for (std::string line; std::getline(file, line);) EXPECT_LE(line.size(), 102U) << line;
}

TEST(Example, ParsesAsItIs) {
    const auto config = parse_config(example_file(), "example");
    EXPECT_THAT(test::lines_of(config), IsEmpty());
}

TEST(Example, WithEveryLineInForceIsTheSameConfigurationPlusAProof) {
    const std::string text = uncommented(example_file());
    const auto all = parse_config(text, "example");
    ASSERT_THAT(test::lines_of(all), IsEmpty());
    const auto plain = parse_config(example_file(), "example");
    ASSERT_TRUE(plain);
    EXPECT_EQ(all->gate, GateConfig{});
    EXPECT_EQ(all->log, LogConfig{});
    ASSERT_EQ(all->pools.size(), 1U);
    const PoolConfig& pool = all->pools.front();
    EXPECT_EQ(all->crashes, CrashConfig{});
    EXPECT_EQ(plain->pools.front().worker,
              (WorkerConfig{.command = "uvicorn app:app --port {port}"}));
    EXPECT_EQ(pool.worker, (WorkerConfig{.command = "uvicorn app:app --port {port}",
                                         .gpus = {.kind = GpuChoice::Kind::all}}));
    EXPECT_EQ(pool.attach, PoolConfig{}.attach);
    EXPECT_EQ(pool.models, PoolConfig{}.models);
    EXPECT_EQ(pool.aside, PoolConfig{}.aside);
    EXPECT_EQ(pool.health_path, PoolConfig{}.health_path);
    EXPECT_EQ(pool.settings.cancel, plain->pools.front().settings.cancel);
    EXPECT_EQ(pool.proof, (ProofConfig{.compare = Compare::json, .expected = R"({"digit": 7})"}));
}

TEST(Example, ShowsTheDefaultOfEveryAmount) {
    const auto all = parse_config(uncommented(example_file()), "example");
    ASSERT_TRUE(all);
    const PoolConfig& pool = all->pools.front();
    const Draft said{.config = *all, .queue = pool.settings, .pool = {.config = pool}};
    for (const Section& section : sections())
        for (const Key& key : section.keys)
            EXPECT_EQ(shown_value(key, said), shown_value(key, {})) << path_of(section, key);
}

}  // namespace
}  // namespace turnpike
