// API keys. A key is shown once, when it is made. The file keeps only its SHA-256, which is safe
// for a secret of 256 random bits. The file has one line per key:
//
//   NAME <tab> plain|admin <tab> SHA-256 in hex <tab> 2026-11-15T10:00:00.123Z
//
// then, each behind a tab, the limits of the key, if it has any (gate/key_limits.h).
//
// The file has mode 0600, its folder 0700. Anyone who can write to the file could add a key, so we
// don't read a file that belongs to another user or that others may write to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gate/key_limits.h"

namespace turnpike {

enum class Access : std::uint8_t {
    plain,  // sends jobs and sees its own
    admin,  // also uses the control routes
};

using KeyHash = std::array<std::uint8_t, 32>;

struct ApiKey {
    std::string name;
    Access access = Access::plain;
    KeyHash hash{};
    std::string created;
    KeyLimits limits = {};

    /// Returns a number that tells the key from others of the same name, earlier or later.
    [[nodiscard]] std::uint64_t id() const;
};

inline constexpr std::size_t key_name_bytes_max = 64;
inline constexpr std::size_t keys_max = 1000;  // each request is compared with all of them
inline constexpr std::size_t presented_key_bytes_max = 256;  // longer keys are not even hashed

/// Returns $XDG_CONFIG_HOME/turnpike/keys if that is an absolute path, otherwise
/// $HOME/.config/turnpike/keys. Empty if neither is known.
std::string keys_path(std::string_view xdg_config_home, std::string_view home);

/// True if the name matches [A-Za-z0-9._-]{1,64}.
[[nodiscard]] bool is_key_name(std::string_view name);

/// Returns every key in the order of the file, or no keys if there is no file. If a line is bad,
/// the result is an error that names the file and the line.
[[nodiscard]] std::expected<std::vector<ApiKey>, std::string> read_keys(const std::string& path);

/// Makes a key, stores its hash and returns its text, which can't be recovered later.
[[nodiscard]] std::expected<std::string, std::string> new_key(const std::string& path,
                                                              std::string_view name, Access access,
                                                              const KeyLimits& limits = {});

/// Removes a key. It is an error if no key has that name.
[[nodiscard]] std::expected<void, std::string> revoke_key(const std::string& path,
                                                          std::string_view name);

/// Keys to be compared with what a client presents.
class KeyRing {
public:
    KeyRing() = default;
    explicit KeyRing(std::vector<ApiKey> keys) : keys_(std::move(keys)) {}

    [[nodiscard]] bool empty() const { return keys_.empty(); }
    [[nodiscard]] std::span<const ApiKey> keys() const { return keys_; }

    /// Returns the key with this text, or nullptr if there is none. How long the call takes does
    /// not show which key matched, or whether one matched. The pointer is valid as long as the
    /// ring.
    [[nodiscard]] const ApiKey* find(std::string_view presented) const;

private:
    std::vector<ApiKey> keys_;
};

}  // namespace turnpike
