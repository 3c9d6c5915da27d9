// API keys. A key is shown once, when it is made; the file keeps its SHA-256, which is enough for a
// secret of 256 random bits. One line per key:
//
//   NAME <tab> plain|admin <tab> SHA-256 in hex <tab> 2026-11-15T10:00:00.123Z
//
// The file is 0600 in a folder of 0700. Who could write to it could let himself in, so a file that
// belongs to somebody else, or that others may write to, is not read.
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
};

inline constexpr std::size_t key_name_bytes_max = 64;
inline constexpr std::size_t keys_max = 1000;                // each request is compared with all
inline constexpr std::size_t presented_key_bytes_max = 256;  // longer ones are wrong unread

/// $XDG_CONFIG_HOME/turnpike/keys if that is an absolute path, else HOME/.config/turnpike/keys;
/// empty if neither is known.
std::string keys_path(std::string_view xdg_config_home, std::string_view home);

/// [A-Za-z0-9._-]{1,64}
[[nodiscard]] bool is_key_name(std::string_view name);

/// Every key, in the file's order. No file: no keys. Errors name the file, and the line if one is
/// bad; then no key is given at all.
[[nodiscard]] std::expected<std::vector<ApiKey>, std::string> read_keys(const std::string& path);

/// Makes a key, stores its hash, and gives its text, which nobody can find out later.
[[nodiscard]] std::expected<std::string, std::string> new_key(const std::string& path,
                                                              std::string_view name, Access access);

/// A name that has no key is an error.
[[nodiscard]] std::expected<void, std::string> revoke_key(const std::string& path,
                                                          std::string_view name);

/// Keys to be compared with what a client presents.
class KeyRing {
public:
    KeyRing() = default;
    explicit KeyRing(std::vector<ApiKey> keys) : keys_(std::move(keys)) {}

    [[nodiscard]] bool empty() const { return keys_.empty(); }
    [[nodiscard]] std::span<const ApiKey> keys() const { return keys_; }

    /// The key whose text this is, or nullptr. Takes as long whichever key it is, and if it is none.
    /// Valid as long as the ring.
    [[nodiscard]] const ApiKey* find(std::string_view presented) const;

private:
    std::vector<ApiKey> keys_;
};

}  // namespace turnpike
