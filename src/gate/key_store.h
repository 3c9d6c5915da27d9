// Reads the key file only if nobody else can write to it, and replaces it in one step under a lock.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "os/file.h"

namespace turnpike {

/// Returns the text of the file, or "" if there is no file. A file of another user, or one that
/// others may write to, is an error.
[[nodiscard]] std::expected<std::string, std::string> read_private_file(const std::string& path);

/// Holds the lock that is needed to replace the file. The lock is on the file's folder, because
/// each change puts a new file in place of the old one.
class KeyStore {
public:
    /// Makes the folder if it is missing, and waits until nobody else holds the lock.
    [[nodiscard]] static std::expected<KeyStore, std::string> lock(const std::string& path);

    /// Replaces the whole file or nothing, even if the machine stops in between.
    [[nodiscard]] std::expected<void, std::string> replace(std::string_view text) const;

private:
    KeyStore(std::string path, UniqueFd folder)
        : path_(std::move(path)), folder_(std::move(folder)) {}

    std::string path_;
    UniqueFd folder_;  // holds the lock
};

}  // namespace turnpike
