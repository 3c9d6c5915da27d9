#include "config/config.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "config/model.h"
#include "config/reading.h"
#include "config/worker_checks.h"

namespace turnpike {

std::string text_of(const Address& address) {
    const bool is_v6 = address.host.contains(':');
    return (is_v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}
namespace {

constexpr std::size_t file_size_max = 1024 * 1024;

using Contents = std::expected<std::string, std::string>;

Contents contents_of(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                               std::fclose);
    if (!file) return std::unexpected("can't be opened: " + std::string(std::strerror(errno)));
    std::string text(file_size_max + 1, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    if (std::ferror(file.get()) != 0)
        return std::unexpected("can't be read: " + std::string(std::strerror(errno)));
    if (text.size() > file_size_max) return std::unexpected("is larger than 1MiB");
    return text;
}

/// Returns false if the file can't be read or is not TOML; there is nothing more to check then.
bool read_file(Reading& reading) {
    Contents text = contents_of(reading.sources.file);
    if (text) return read_text(reading, *text);
    reading.mistakes.push_back({.file = reading.sources.file, .problem = std::move(text.error())});
    return false;
}

/// Returns the absolute folder of the file. The file's commands run there, wherever `up` was
/// started.
std::string folder_of(const std::string& path) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(path, error).lexically_normal();
    return error ? "" : absolute.parent_path().string();
}

}  // namespace

Settings engine_settings(const Config& config, std::uint64_t seed) {
    Settings settings{.bytes_max = config.bytes_max,
                      .arriving_max = config.arriving_max,
                      .load_parallel_max = config.load_parallel_max,
                      .seed = seed};
    for (const PoolConfig& pool : config.pools) settings.pools.push_back(pool.settings);
    return settings;
}

std::string text_of(const Mistake& mistake) {
    std::string text = mistake.file;
    if (mistake.line > 0) text += ':' + std::to_string(mistake.line);
    if (!text.empty()) text += ": ";
    if (!mistake.key.empty()) text += mistake.key + ": ";
    return text + mistake.problem;
}

Mistake Sources::mistake(std::string_view path, std::string problem) const {
    const std::string key(path.substr(0, path.find('[')));
    for (std::string_view at = path; !at.empty();) {
        if (const auto found = origins.find(std::string(at)); found != origins.end()) {
            const auto& [line, flag] = found->second;
            const bool is_flag = !flag.empty();
            return {.file = is_flag ? "" : file,
                    .line = line,
                    .key = is_flag ? flag : key,
                    .problem = std::move(problem)};
        }
        const std::size_t end = at.find_last_of(".[");
        at = at.substr(0, end == std::string_view::npos ? 0 : end);
    }
    return {.file = file, .line = 0, .key = key, .problem = std::move(problem)};
}

ConfigOrMistakes parse_config(std::string_view text, std::string_view file_name) {
    Reading reading{.sources = {.file = std::string(file_name)}};
    if (!read_text(reading, text)) return std::unexpected(std::move(reading.mistakes));
    for (PoolDraft& pool : reading.draft.pools)
        make_absolute(pool.config.worker, folder_of(reading.sources.file));
    return settled(std::move(reading));
}

ConfigOrMistakes load_config(const std::string& path) { return make_config(path, {}); }

ConfigOrMistakes make_config(std::optional<std::string> path, const Flags& flags) {
    Reading reading{.sources = {.file = path.value_or("")}};
    if (path && !read_file(reading)) return std::unexpected(std::move(reading.mistakes));
    for (PoolDraft& pool : reading.draft.pools) {
        if (pool.config.is_started()) pool.config.worker.folder = folder_of(*path);
        make_absolute(pool.config.worker, folder_of(*path));
    }
    read_flags(reading, flags);
    for (PoolDraft& pool : reading.draft.pools) make_absolute(pool.config.worker, "");
    check_model_files(reading);
    return settled(std::move(reading));
}

}  // namespace turnpike
