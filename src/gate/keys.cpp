#include "gate/keys.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "base/utc.h"
#include "gate/key_store.h"

namespace turnpike {
namespace {

constexpr auto* key_name_rule = "a name must have 1 to 64 of the characters A-Z a-z 0-9 . _ -";
constexpr std::string_view key_prefix = "tp_";
constexpr std::string_view hex_digits = "0123456789abcdef";
constexpr std::array<std::string_view, 2> access_words = {"plain", "admin"};  // by Access

std::optional<KeyHash> hash_of(std::string_view text) {
    KeyHash hash;
    unsigned size = 0;
    if (EVP_Digest(text.data(), text.size(), hash.data(), &size, EVP_sha256(), nullptr) != 1)
        return std::nullopt;
    return hash;
}

/// Returns tp_ and 32 random bytes in base64url, or nullopt if the system has no randomness.
std::optional<std::string> random_key() {
    std::array<unsigned char, 32> secret;
    if (RAND_bytes(secret.data(), static_cast<int>(secret.size())) != 1) return std::nullopt;
    std::array<unsigned char, 45> encoded;  // 44 and a NUL
    const int size =
        EVP_EncodeBlock(encoded.data(), secret.data(), static_cast<int>(secret.size()));
    OPENSSL_cleanse(secret.data(), secret.size());
    std::string key{key_prefix};
    for (int i = 0; i < size; ++i) {
        const auto c = static_cast<char>(encoded[static_cast<std::size_t>(i)]);
        if (c != '=') key += c == '+' ? '-' : c == '/' ? '_' : c;
    }
    OPENSSL_cleanse(encoded.data(), encoded.size());
    return key;
}

// ── a line of the file ───────────────────────────────────────────────────────────────────────────

void append_line(std::string& out, const ApiKey& key) {
    out += key.name;
    out += '\t';
    out += access_words[static_cast<std::size_t>(key.access)];
    out += '\t';
    for (const unsigned byte : key.hash) {
        out += hex_digits[byte >> 4U];
        out += hex_digits[byte & 0xFU];
    }
    out += '\t';
    out += key.created;
    for (const KeyLimit& limit : key_limits()) {
        const std::string text = limit.text(key.limits);
        if (!text.empty()) out.append("\t").append(limit.name).append("=").append(text);
    }
    out += '\n';
}

std::optional<KeyHash> parse_hash(std::string_view hex) {
    KeyHash hash;
    if (hex.size() != 2 * hash.size()) return std::nullopt;
    for (std::size_t i = 0; i < hash.size(); ++i) {
        const std::size_t high = hex_digits.find(hex[2 * i]);
        const std::size_t low = hex_digits.find(hex[2 * i + 1]);
        if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
        hash[i] = static_cast<std::uint8_t>(high << 4U | low);
    }
    return hash;
}

/// Removes and returns the text before the next `separator`, or the whole rest.
std::string_view take_until(char separator, std::string_view& text) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view taken = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return taken;
}

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

/// Reads what follows the date: limits such as "jobs_max=20", with tabs between them.
std::expected<KeyLimits, std::string> parse_limits(std::string_view fields) {
    KeyLimits limits;
    std::vector<std::string_view> seen;
    while (!fields.empty()) {
        std::string_view field = take_until('\t', fields);
        const std::string_view name = take_until('=', field);
        const KeyLimit* limit = find_key_limit(name);
        if (limit == nullptr)
            return std::unexpected(in_quotes(name) +
                                   " is no limit of a key; those are jobs_max, bytes_max, rate and "
                                   "priority_max");
        if (std::ranges::find(seen, name) != seen.end())
            return std::unexpected("has " + in_quotes(name) + " twice");
        seen.push_back(name);
        if (const auto taken = limit->take(limits, field); !taken)
            return std::unexpected(in_quotes(name) + " " + taken.error());
    }
    return limits;
}

/// Returns the key of this line. The error says what is wrong with the line.
std::expected<ApiKey, std::string> parse_line(std::string_view line) {
    if (std::ranges::count(line, '\t') < 3)
        return std::unexpected("must be NAME, plain or admin, SHA-256 and date, separated by tabs");
    const std::string_view name = take_until('\t', line);
    const std::string_view access = take_until('\t', line);
    const auto hash = parse_hash(take_until('\t', line));
    const std::string_view created = take_until('\t', line);
    const auto word = std::ranges::find(access_words, access);
    if (!is_key_name(name)) return std::unexpected(key_name_rule);
    if (word == access_words.end()) return std::unexpected("the access must be 'plain' or 'admin'");
    if (!hash) return std::unexpected("the SHA-256 must have 64 lower-case hexadecimal digits");
    const auto limits = parse_limits(line);
    if (!limits) return std::unexpected(limits.error());
    return ApiKey{.name = std::string(name),
                  .access = static_cast<Access>(word - access_words.begin()),
                  .hash = *hash,
                  .created = std::string(created),
                  .limits = *limits};
}

bool has_key(const std::vector<ApiKey>& keys, std::string_view name) {
    return std::ranges::find(keys, name, &ApiKey::name) != keys.end();
}

std::expected<std::vector<ApiKey>, std::string> parse(std::string_view text,
                                                      const std::string& path) {
    std::vector<ApiKey> keys;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto problem = [&](const std::string& what) {
            std::string place = path;
            place += ":";
            place += std::to_string(number);
            return std::unexpected(place += ": " + what);
        };
        auto key = parse_line(take_until('\n', text));
        if (!key) return problem(key.error());
        if (has_key(keys, key->name)) return problem("a second key is named '" + key->name + "'");
        if (keys.size() == keys_max) return problem("too many keys");
        keys.push_back(std::move(*key));
    }
    return keys;
}

std::expected<void, std::string> store(const KeyStore& locked, const std::vector<ApiKey>& keys) {
    std::string text;
    for (const ApiKey& key : keys) append_line(text, key);
    return locked.replace(text);
}

std::string now_as_text() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    std::string text;
    append_utc(text, std::chrono::nanoseconds(now).count());
    return text;
}

}  // namespace

std::uint64_t ApiKey::id() const {
    std::uint64_t id = 0;
    std::memcpy(&id, hash.data(), sizeof id);
    return id;
}

std::string keys_path(std::string_view xdg_config_home, std::string_view home) {
    if (xdg_config_home.starts_with('/')) return std::string(xdg_config_home) + "/turnpike/keys";
    return home.empty() ? std::string() : std::string(home) + "/.config/turnpike/keys";
}

bool is_key_name(std::string_view name) {
    constexpr std::string_view allowed =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    return !name.empty() && name.size() <= key_name_bytes_max &&
           name.find_first_not_of(allowed) == std::string_view::npos;
}

std::expected<std::vector<ApiKey>, std::string> read_keys(const std::string& path) {
    const auto text = read_private_file(path);
    if (!text) return std::unexpected(text.error());
    return parse(*text, path);
}

std::expected<std::string, std::string> new_key(const std::string& path, std::string_view name,
                                                Access access, const KeyLimits& limits) {
    if (!is_key_name(name)) return std::unexpected("'" + std::string(name) + "': " + key_name_rule);
    const auto locked = KeyStore::lock(path);
    if (!locked) return std::unexpected(locked.error());
    auto keys = read_keys(path);
    if (!keys) return std::unexpected(keys.error());
    if (has_key(*keys, name))
        return std::unexpected("there is a key named '" + std::string(name) +
                               "' already; revoke it first");
    if (keys->size() == keys_max) return std::unexpected(path + ": too many keys");
    const auto text = random_key();
    const auto hash = text ? hash_of(*text) : std::nullopt;
    if (!hash) return std::unexpected("the system has no randomness for a key");
    keys->push_back({.name = std::string(name),
                     .access = access,
                     .hash = *hash,
                     .created = now_as_text(),
                     .limits = limits});
    if (auto stored = store(*locked, *keys); !stored) return std::unexpected(stored.error());
    return *text;
}

std::expected<void, std::string> revoke_key(const std::string& path, std::string_view name) {
    const auto locked = KeyStore::lock(path);
    if (!locked) return std::unexpected(locked.error());
    auto keys = read_keys(path);
    if (!keys) return std::unexpected(keys.error());
    if (std::erase_if(*keys, [&](const ApiKey& key) { return key.name == name; }) == 0)
        return std::unexpected("there is no key named '" + std::string(name) + "'");
    return store(*locked, *keys);
}

const ApiKey* KeyRing::find(std::string_view presented) const {
    if (presented.size() > presented_key_bytes_max) return nullptr;
    const auto hash = hash_of(presented);
    if (!hash) return nullptr;
    const ApiKey* found = nullptr;
    for (const ApiKey& key : keys_)  // no early exit: the time must not tell which key matched
        if (CRYPTO_memcmp(key.hash.data(), hash->data(), hash->size()) == 0) found = &key;
    return found;
}

}  // namespace turnpike
