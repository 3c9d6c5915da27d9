// Where the generations of each pool lie (docs/decisions/0005): RUNTIME/generations/POOL/N.
//
// The workers of a Python model fill a generation's `sources`; nobody else writes there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "core/words.h"

namespace turnpike {

class Generations {
public:
    /// Empties the place: what an earlier gate ran says nothing about the files as they are now.
    Generations(const std::string& runtime_folder, const std::vector<PoolConfig>& pools);

    /// Of all its generations.
    [[nodiscard]] const std::string& home(std::size_t pool) const { return pools_[pool].home; }
    /// Made with this call, if it is not there. Empty: it can't be made.
    [[nodiscard]] std::string folder(std::size_t pool, Generation generation) const;
    /// A number that none had before.
    [[nodiscard]] Generation next(std::size_t pool) { return {++pools_[pool].newest}; }

private:
    struct Pool {
        std::string home;
        std::uint64_t newest = 1;  // the engine begins with generation 1
    };
    std::vector<Pool> pools_;
};

struct KeptSource {
    std::string path;  // absolute
    std::string bytes;
};
/// The user's own sources that workers of the generation in this folder have imported. Reads files.
[[nodiscard]] std::vector<KeptSource> sources_in(const std::string& folder);

/// Nothing of it ever worked: its next worker imports anew.
void forget_sources(const std::string& folder);

/// Now and then, for those who clean up what nobody has touched for days.
void touch_generations(const std::string& runtime_folder);

/// Its generation is over.
void remove_generation(const std::string& folder);

/// What is kept of a native program: a copy, which is run once the original has changed. Beside it are
/// links to what lies beside the original, where programs look for things.
class KeptProgram {
public:
    KeptProgram() = default;
    KeptProgram(std::string original, const std::string& folder);

    /// Slow. False: the original has changed meanwhile, or could not be read.
    [[nodiscard]] bool copy() const;
    void copied() { has_copy_ = true; }
    /// What to run now.
    [[nodiscard]] const std::string& path() const;

private:
    std::string original_;
    std::string copy_;
    std::string identity_;  // of the original, as it was
    bool has_copy_ = false;
};

}  // namespace turnpike
