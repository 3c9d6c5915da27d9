// The keys that a running gate accepts. The gate reads the key file again whenever the file
// changes. If the file can't be read, the last good keys stay valid; if it is gone, there are no
// keys. Once keys are required, they stay required, even if no key is left (is_required()).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "gate/keys.h"

namespace turnpike {

class KeyFile {
public:
    /// With `required`, every request needs a key, even if the file has none.
    enum class Need : std::uint8_t { if_there_are_any, required };

    /// Reads the file. Keys are required as soon as the file has one, or can't be read.
    KeyFile(std::string path, Need need);

    /// Checks whether the file changed (one system call), and reads it if so. Returns true if it
    /// was read: then every `const ApiKey*` found before is invalid.
    bool refresh();

    [[nodiscard]] const KeyRing& ring() const { return ring_; }

    /// True if requests without a valid key must be refused.
    [[nodiscard]] bool is_required() const { return required_; }

    /// Returns why the file could not be read. Empty if the keys in use are those of the file.
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    /// Identifies a version of the file. All zero if there is no file.
    struct Version {
        std::uint64_t device = 0;
        std::uint64_t inode = 0;
        std::uint64_t size = 0;
        std::int64_t modified_ns = 0;
        std::int64_t changed_ns = 0;
        friend bool operator==(const Version&, const Version&) = default;
    };

    [[nodiscard]] std::expected<Version, std::string> version() const;
    bool fail(std::string problem);

    std::string path_;
    bool required_;
    KeyRing ring_;
    std::optional<Version> version_;  // from which `ring_` was read
    std::string problem_;
};

}  // namespace turnpike
