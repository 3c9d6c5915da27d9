// The table of keys. One row makes a key: where its value goes, what it may be, and what
// config/turnpike.example.toml says of it. A key without a row does not exist.
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

/// A pool as its keys say it; what depends on several keys is settled at the end.
struct PoolDraft {
    PoolConfig config;
    std::optional<CancelPolicy> cancel;
    std::optional<Pin> pin;
    std::uint32_t batch = 0;  // 0: as the model says
    std::uint32_t proof_status = 200;
    bool has_proof = false;
    bool agree = false;
    std::string expect;  // empty: not this way
    std::string expect_json;
};

struct Draft {
    Config config;       // without its pools
    PoolSettings queue;  // the part that all pools share
    PoolDraft pool;      // the one that is being read
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

/// Puts a text where it belongs, or says what is wrong with it.
using Take = std::expected<void, std::string> (*)(Draft&, std::string_view);

struct TextKey {
    Take take;
    std::string_view form;   // what it may be, for people
    std::string_view shown;  // its default; for keys without one, an example
};
struct ListKey {
    Take take;  // one item
    std::size_t max;
    std::string_view form;
    std::string_view shown;
};

/// A word for them all, or a list of integers and strings.
struct GpusKey {
    GpuChoice& (*at)(Draft&);
    std::size_t max;
};

/// A table of strings with names of the user's own.
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

/// Neighbours with the same prefix are one table of the file.
struct Section {
    std::string_view prefix;  // of its keys' paths: "gate.", "pool.*.proof."
    std::string_view description;
    std::span<const Key> keys;
};

[[nodiscard]] std::span<const Section> sections();

/// `path` has a star for the pool's name: "pool.*.slots". nullptr: no such key.
[[nodiscard]] const Key* find_key(std::string_view path);

/// Whether paths of keys go on after this: "gate", "pool.*.health".
[[nodiscard]] bool is_group(std::string_view path);

/// What a key may be: "1KiB to 1TiB".
[[nodiscard]] std::string bounds_of(const Key&);

/// The value that a key has in a draft, as TOML; of text and lists, what the table shows.
[[nodiscard]] std::string shown_value(const Key&, Draft);

}  // namespace turnpike
