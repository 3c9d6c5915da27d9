// The folders of each pool's generations (docs/decisions/0005): RUNTIME/generations/POOL/N.
//
// Only the workers of a Python model write into a generation's `sources`.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "core/words.h"
#include "os/file.h"

namespace turnpike {

class Generations {
public:
    /// Removes the generations of an earlier gate, because the files may have changed since.
    Generations(const std::string& runtime_folder, const std::vector<PoolConfig>& pools);

    /// Returns the folder that holds all generations of the pool.
    [[nodiscard]] const std::string& home(std::size_t pool) const { return pools_[pool].home; }
    /// Returns the folder of a generation, and makes it if it is missing. Empty if it can't be
    /// made.
    [[nodiscard]] std::string folder(std::size_t pool, Generation generation) const;
    /// Makes the folders of all pools below another runtime folder, or below the same one if they are
    /// gone. The generations themselves are made when folder() is called.
    void move_to(const std::string& runtime_folder);
    /// Returns a number that no generation of the pool had before.
    [[nodiscard]] Generation next(std::size_t pool) { return {++pools_[pool].newest}; }

private:
    struct Pool {
        std::string home;
        std::uint64_t newest = 1;  // the engine begins with generation 1
    };
    std::vector<std::string> names_;  // of the pools
    std::vector<Pool> pools_;
};

/// The files of a generation's `sources`, by name, as workers wrote them. The gate keeps them in
/// memory, so that it can write them again if its runtime folder is removed: else a restart would
/// import files that were saved since.
class SourceCopies {
public:
    /// Reads the files if their folder changed. Files that are gone from it are written again. Reads a
    /// few MiB at most, because the loop waits for it (usually for the first worker's sources, some KiB
    /// in memory); what is left is read by the next look. Copies are never more than 64 MiB.
    void look(const std::string& folder);
    /// Writes all files into the `sources` of this folder.
    void restore(const std::string& folder) const;
    [[nodiscard]] std::size_t size() const { return files_.size(); }

private:
    /// Returns false if some files are left for the next look.
    [[nodiscard]] bool read_new(const std::string& sources);

    std::map<std::string, std::string> files_;
    std::string stamp_;  // of the folder when it was read
    std::size_t bytes_ = 0;
};

struct KeptSource {
    std::string path;  // absolute
    std::string bytes;
};
/// Reads the user's own source files that workers of the generation in this folder have imported.
[[nodiscard]] std::vector<KeptSource> sources_in(const std::string& folder);

/// Removes the kept sources of a generation that never worked, so that its next worker imports the
/// files again.
void forget_sources(const std::string& folder);

/// Updates the times of all generations. Must be called now and then, so that programs that remove
/// old temporary files leave the generations alone.
void touch_generations(const std::string& runtime_folder);

/// Removes the folder of a generation that is over.
void remove_generation(const std::string& folder);

/// A program and a copy of it. Workers run the original until it changes, and from then on the
/// copy. Beside the copy are links to the files beside the original, because programs look for
/// files there.
class KeptProgram {
public:
    KeptProgram() = default;
    KeptProgram(std::string original, const std::string& folder);

    /// Makes the copy, which is slow. Returns false if the original has changed meanwhile, or if
    /// the copy could not be made or can't be run.
    [[nodiscard]] bool copy() const;
    void copied();
    /// Makes the copy anew in another folder, or in the same one if it is gone. Slow if the copy
    /// was made: it is kept open, so that it can be made again from itself. The loop waits for that,
    /// since the next start may need it; it happens once each time that the folder is removed.
    [[nodiscard]] bool move_to(const std::string& folder);
    /// Returns the path to run now.
    [[nodiscard]] const std::string& path() const;

private:
    std::string original_;
    std::string copy_;
    std::string identity_;  // of the original when it was chosen
    bool has_copy_ = false;
    std::shared_ptr<UniqueFd> held_copy_;  // open as long as workers may start from it
};

}  // namespace turnpike
