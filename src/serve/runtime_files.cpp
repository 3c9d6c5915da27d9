#include "serve/runtime_files.h"

#include <cstring>

#include <fmt/format.h>

#include "setup/sdk.h"

namespace turnpike {

RuntimeFiles::RuntimeFiles(RuntimeFilesDeps deps)
    : deps_(std::move(deps)), work_(deps_.folder.path()), sdk_(deps_.sdk) {
    remove_abandoned_spares(deps_.temporary);  // of gates that were killed
}

void RuntimeFiles::look() {
    const auto lost = renew_folder();
    const auto unheard = lost ? std::nullopt : renew_socket();
    problem_ = unheard.value_or("");
    const auto why_not = lost ? lost : work_in(deps_.folder.path());
    if (why_not) work_in_spare(*why_not);
}

std::optional<std::string> RuntimeFiles::renew_folder() {
    const auto renewed = deps_.folder.renew();
    if (!renewed) return renewed.error();
    if (*renewed == RuntimeFolder::Renewal::made_anew)
        news_ = fmt::format(
            "the runtime folder {} or its lock was removed or replaced; it was made anew",
            deps_.folder.path());
    return std::nullopt;
}

/// Without its file, the socket is still found by its abstract name, but not from a container.
std::optional<std::string> RuntimeFiles::renew_socket() {
    if (deps_.listener.has_socket_file()) return std::nullopt;
    const std::string path = deps_.folder.path_of("socket");
    const auto bound = deps_.listener.bind_unix(path);
    if (!bound) return fmt::format("{}; remove what is there", bound.error());
    if (news_.empty()) news_ = fmt::format("{} was removed; it was made anew", path);
    return std::nullopt;
}

/// Lets workers start from this folder. Returns an error message if the SDK can't be written there.
std::optional<std::string> RuntimeFiles::work_in(const std::string& folder) {
    if (!deps_.sdk.empty()) {
        const std::string sdk = folder + "/sdk";
        if (auto problem = renew_sdk(sdk)) return problem;
        sdk_ = sdk;
    }
    work_ = folder;
    return std::nullopt;
}

void RuntimeFiles::work_in_spare(const std::string& why) {
    if (!spare_) {
        auto made = SpareFolder::make(deps_.temporary);
        if (!made) {
            problem_ = fmt::format("{}; no other folder can be made in {} either: {}", why,
                                   deps_.temporary, std::strerror(made.error()));
            return;
        }
        spare_.emplace(*std::move(made));
    }
    const auto problem = work_in(spare_->path());
    problem_ = problem ? fmt::format("{}; {}", why, *problem)
                       : fmt::format(
                             "{}. The gate goes on: its workers' files are in {} "
                             "meanwhile, and it looks every second whether the folder can "
                             "be made again",
                             why, spare_->path());
}

}  // namespace turnpike
