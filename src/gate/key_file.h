// The keys that a running gate accepts: the file's, read again whenever it changes. A file that
// can't be read leaves the last good keys in force; a file that is gone has no keys. Whether no keys
// means "everybody" or "nobody" is `required`'s to say, and it never goes back to "everybody".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gate/keys.h"

namespace turnpike {

class KeyFile {
public:
    /// `required`: without a key nobody gets in, even if the file has none.
    enum class Need : std::uint8_t { if_there_are_any, required };

    /// Reads the file. From the first key that it ever sees, keys are required.
    KeyFile(std::string path, Need need);

    /// Looks whether the file changed and reads it if so; true if the keys are others now. Cheap: a
    /// system call. Keys that were found before are no longer valid.
    bool refresh();

    [[nodiscard]] const KeyRing& ring() const { return ring_; }

    /// Requests without a valid key must be refused.
    [[nodiscard]] bool is_required() const { return required_; }

    /// Why the keys in force may not be those of the file; empty: they are.
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    /// What tells one version of the file from another.
    struct Version {
        std::uint64_t device = 0, inode = 0, size = 0;
        std::int64_t modified_ns = 0, changed_ns = 0;
        bool exists = false;
        friend bool operator==(const Version&, const Version&) = default;
    };

    [[nodiscard]] Version version() const;
    bool read();

    std::string path_;
    bool required_;
    KeyRing ring_;
    Version version_;
    std::string problem_;
};

}  // namespace turnpike
