// The bytes of the key file: read with suspicion, replaced in one step under a lock.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "os/file.h"

namespace turnpike {

/// The file's text; no file: "". A file of another user, or one that others may write to, is an
/// error.
[[nodiscard]] std::expected<std::string, std::string> read_private_file(const std::string& path);

/// The right to replace the file, until destroyed. The lock is on its folder, because the file
/// itself is another one after each change.
class KeyStore {
public:
    /// Makes the folder if need be, and waits for whoever holds the lock.
    [[nodiscard]] static std::expected<KeyStore, std::string> lock(const std::string& path);

    /// All or nothing, also if the machine stops in between.
    [[nodiscard]] std::expected<void, std::string> replace(std::string_view text) const;

private:
    KeyStore(std::string path, UniqueFd folder)
        : path_(std::move(path)), folder_(std::move(folder)) {}

    std::string path_;
    UniqueFd folder_;  // holds the lock
};

}  // namespace turnpike
