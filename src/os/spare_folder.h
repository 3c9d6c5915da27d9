// A private folder in the temporary folder, for a gate whose runtime folder can't be made anew. Its
// owner holds a lock in it, so that the next gate can tell the folder of a gate that was killed, and
// removes it.
//
//     TMPDIR/turnpike-UID-XXXXXX/lock
#pragma once

#include <sys/types.h>

#include <expected>
#include <string>

#include "os/file.h"

namespace turnpike {

class SpareFolder {
public:
    /// Makes a folder in `parent`. The error is an errno.
    [[nodiscard]] static std::expected<SpareFolder, int> make(const std::string& parent);

    SpareFolder(SpareFolder&& other) noexcept = default;
    SpareFolder& operator=(SpareFolder&& other) = delete;
    /// Removes the folder. Does nothing in a forked child.
    ~SpareFolder();

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    SpareFolder(std::string path, UniqueFd lock);

    std::string path_;
    UniqueFd lock_;
    pid_t owner_;
};

/// Removes the spare folders of this user in `parent` that nobody holds any more.
void remove_abandoned_spares(const std::string& parent);

}  // namespace turnpike
