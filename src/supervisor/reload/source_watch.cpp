#include "supervisor/reload/source_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "os/file.h"

namespace turnpike {
namespace {

std::map<std::string, std::string> kept_in(const std::string& folder) {
    std::map<std::string, std::string> kept;
    if (folder.empty()) return kept;
    for (KeptSource& source : sources_in(folder))
        kept.insert_or_assign(std::move(source.path), std::move(source.bytes));
    return kept;
}

/// Returns a text that changes when a source is added to the folder or the folder is emptied.
std::string stamp_of(const std::string& folder) {
    struct stat facts{};
    if (folder.empty() || ::stat((folder + "/sources").c_str(), &facts) != 0) return folder;
    return fmt::format("{} {}.{}", folder, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

bool has_bytes(const std::string& path, const std::string& bytes) {
    return read_file(path, bytes.size() + 1) == bytes;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.find_last_of('/')); }

}  // namespace

SourceWatch::SourceWatch(SourceWatchDeps deps)
    : deps_(std::move(deps)),
      watch_(deps_.loop, [this](const std::vector<std::string>& files) { saved(files); }) {}

void SourceWatch::follow(Followed followed) {
    followed_ = std::move(followed);
    if (followed_.is_bad) {  // somebody may fix the error before the folders are read
        files_.insert(followed_.suspects.begin(), followed_.suspects.end());
        watch(NewFiles::count);
    }
    read();
}

void SourceWatch::look() {
    if (!is_reading_ && stamp_ != stamp_of(followed_.good) + stamp_of(followed_.newest)) read();
}

void SourceWatch::read() {
    if (std::exchange(is_reading_, true)) {
        stamp_.clear();  // so that look() reads again when this read is done
        return;
    }
    stamp_ = stamp_of(followed_.good) + stamp_of(followed_.newest);
    deps_.disk.run(
        [followed = followed_] {
            Sources sources{.good = kept_in(followed.good), .newest = kept_in(followed.newest)};
            for (const auto& [path, bytes] : sources.newest.empty() ? sources.good : sources.newest)
                if (!has_bytes(path, bytes)) sources.outdated.push_back(path);
            return sources;
        },
        [this, lives = std::weak_ptr(lives_)](const Sources& sources) {
            if (lives.expired()) return;
            is_reading_ = false;
            want(sources);
            look();
        });
}

void SourceWatch::want(const Sources& sources) {
    std::set<std::string> files{deps_.model.path};
    for (const auto& [path, bytes] : sources.good) files.insert(path);
    for (const auto& [path, bytes] : sources.newest) files.insert(path);
    files.insert(followed_.suspects.begin(), followed_.suspects.end());
    // If nothing has worked yet, or the latest reload failed, a new file may be the missing module.
    const bool takes_new = followed_.is_bad || sources.good.empty();
    are_imports_known_ = !sources.good.empty() || deps_.model.kind == ModelChoice::Kind::program;
    // These files were saved after a worker read them and before they were watched.
    std::vector<std::string> missed;
    std::ranges::copy_if(sources.outdated, std::back_inserter(missed),
                         [this](const std::string& file) { return !files_.contains(file); });
    files_ = std::move(files);
    watch(takes_new ? NewFiles::count : NewFiles::do_not_count);
    if (!missed.empty() && !followed_.is_bad) deps_.changed(std::move(missed));
}

void SourceWatch::watch(NewFiles new_files) {
    FileWatch::Wanted wanted{.files = {files_.begin(), files_.end()}};
    if (new_files == NewFiles::count && deps_.model.kind == ModelChoice::Kind::python)
        wanted.folders.push_back(folder_of(deps_.model.path));
    std::ignore = watch_.want(std::move(wanted));
}

/// Reports saved files. Ignores a file whose bytes already run or are being tried, unless the
/// latest reload failed.
void SourceWatch::saved(const std::vector<std::string>& files) {
    const std::string folder = followed_.newest.empty() ? followed_.good : followed_.newest;
    deps_.disk.run(
        [files, folder = followed_.is_bad ? std::string() : folder] {
            const auto kept = kept_in(folder);
            std::vector<std::string> changed;
            for (const std::string& file : files) {
                const auto known = kept.find(file);
                if (known == kept.end() || !has_bytes(file, known->second)) changed.push_back(file);
            }
            return changed;
        },
        [this, lives = std::weak_ptr(lives_)](std::vector<std::string> changed) {
            if (!lives.expired() && !changed.empty()) deps_.changed(std::move(changed));
        });
}

std::size_t SourceWatch::news() {
    const bool is_behind =
        is_reading_ || stamp_ != stamp_of(followed_.good) + stamp_of(followed_.newest);
    if (!are_imports_known_ || is_behind || std::exchange(is_told_, true)) return 0;
    return files_.size();
}

}  // namespace turnpike
