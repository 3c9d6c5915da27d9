// The table of keys. Each key has one row: where its value is stored, which values are allowed, and
// its description in config/turnpike.example.toml. A key without a row does not exist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "config/config.h"

namespace turnpike {

/// A pool as its keys describe it. settled() computes the values that depend on several keys.
struct PoolDraft {
    PoolConfig config;
    std::optional<CancelPolicy> cancel;
    std::optional<Pin> pin;
    std::uint32_t batch = 0;  // 0 means the model decides
    std::uint32_t proof_status = 200;
    bool has_proof = false;
    bool agree = false;
    std::string expect;  // empty if not used
    std::string expect_json;
};

struct Draft {
    Config config;       // without its pools
    PoolSettings queue;  // the part that all pools share
    PoolDraft pool;      // the pool that is being read
    std::vector<PoolDraft> pools;
};

struct TimeKey {
    Duration& (*at)(Draft&);
    Duration min, max;
};
struct SizeKey {
    Bytes& (*at)(Draft&);
    Bytes min, max;
};
struct CountKey {
    std::uint32_t& (*at)(Draft&);
    std::uint32_t min, max;
};
struct NumberKey {
    double& (*at)(Draft&);
    double min, max;
};
struct FlagKey {
    bool& (*at)(Draft&);
};

/// Stores a text in the draft, or returns what is wrong with the text.
using Take = std::expected<void, std::string> (*)(Draft&, std::string_view);

struct TextKey {
    Take take;
    std::string_view form;   // allowed values, in words
    std::string_view shown;  // the default, or an example if there is no default
};
struct ListKey {
    Take take;  // stores one item
    std::size_t max;
    std::string_view form;
    std::string_view shown;
};

/// "all", "none", or a list of integers and strings.
struct GpusKey {
    GpuChoice& (*at)(Draft&);
    std::size_t max;
};

/// A table of strings whose names the user chooses.
struct TableKey {
    std::expected<void, std::string> (*take)(Draft&, const std::string& name, std::string_view);
    std::size_t max;
    std::string_view form;
    std::string_view shown;
};

struct Key {
    std::string_view name;  // within its section
    std::variant<TimeKey, SizeKey, CountKey, NumberKey, FlagKey, TextKey, ListKey, GpusKey,
                 TableKey>
        kind;
    std::string_view description;
};

/// Sections with the same prefix that follow each other are one table of the file.
struct Section {
    std::string_view prefix;  // begins the path of each key: "gate.", "pool.*.proof."
    std::string_view description;
    std::span<const Key> keys;
};

[[nodiscard]] std::span<const Section> sections();

/// Returns the key, or nullptr if there is none. `path` has a star for the pool's name:
/// "pool.*.slots".
[[nodiscard]] const Key* find_key(std::string_view path);

/// True if there are keys below this path: "gate", "pool.*.health".
[[nodiscard]] bool is_group(std::string_view path);

/// Returns the allowed values of a key in words: "1KiB to 1TiB".
[[nodiscard]] std::string bounds_of(const Key&);

/// Returns the value of a key in the draft, as TOML. For texts, lists and tables, returns the
/// default or example of the key's row instead.
[[nodiscard]] std::string shown_value(const Key&, Draft);

}  // namespace turnpike
