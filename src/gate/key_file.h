// The keys that a running gate accepts: the file's, read again whenever it changes. A file that
// can't be read leaves the last good keys in force; a file that is gone has no keys. Whether no keys
// means "everybody" or "nobody" is `required`'s to say, and it never goes back to "everybody".
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "gate/keys.h"

namespace turnpike {

class KeyFile {
public:
    /// `required`: without a key nobody gets in, even if the file has none.
    enum class Need : std::uint8_t { if_there_are_any, required };

    /// Reads the file. From the first key that it ever sees, or if there is a file that can't be
    /// read, keys are required.
    KeyFile(std::string path, Need need);

    /// Looks whether the file changed (one system call) and reads it if so; true if it was read. A
    /// `const Key*` found before is then no longer valid.
    bool refresh();

    [[nodiscard]] const KeyRing& ring() const { return ring_; }

    /// Requests without a valid key must be refused.
    [[nodiscard]] bool is_required() const { return required_; }

    /// Why the keys in force may not be those of the file; empty: they are.
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    /// What tells one version of the file from another; all zero: there is none.
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
    std::optional<Version> version_;  // that `ring_` was read from
    std::string problem_;
};

}  // namespace turnpike
