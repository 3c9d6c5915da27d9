#include "telemetry/crash_report.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/check.h"
#include "base/json_writer.h"
#include "base/utc.h"

namespace turnpike {
namespace {

std::string path_of(const std::string& folder, const std::string& name) {
    return folder + '/' + name;
}

namespace fs = std::filesystem;
using Wrong = std::unexpected<std::string>;

constexpr std::size_t stream_mark = std::string_view("err ").size();  // begins each log line
constexpr std::string_view unfinished_mark = ".unfinished-";
constexpr std::size_t id_max = 100;
constexpr std::size_t file_max = std::size_t{1024} * 1024;  // read_file() cuts longer files

Wrong wrong(const char* doing, const std::string& path, int error) {
    return Wrong(std::string("can't ") + doing + " " + path + ": " + std::strerror(error));
}

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

bool is_plain_name(std::string_view text) {
    return !text.empty() && text.size() <= id_max && std::ranges::all_of(text, is_plain);
}

/// Returns a file name for an input: the job's name if it is safe in a path, otherwise a number.
std::string input_name(const CrashReport& report, std::size_t index) {
    const std::string& job = report.inputs[index].job;
    return "input-" + (is_plain_name(job) ? job : std::to_string(index + 1));
}

std::expected<void, std::string> make_folder(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) != 0) return wrong("make the folder", path, errno);
    return {};
}

std::expected<void, std::string> write_file(const std::string& path, std::string_view text) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return wrong("make the file", path, errno);
    int error = 0;
    while (!text.empty() && error == 0) {
        const ssize_t size = ::write(fd, text.data(), text.size());
        if (size >= 0)
            text.remove_prefix(static_cast<std::size_t>(size));
        else if (errno != EINTR)
            error = errno;
    }
    if (::close(fd) != 0 && error == 0) error = errno;
    if (error != 0) return wrong("write", path, error);
    return {};
}

/// Returns at most `file_max` bytes of the file. Empty if it can't be read.
std::string read_file(const std::string& path) {
    std::string text;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return text;
    text.resize(file_max);
    std::size_t size = 0;
    for (ssize_t got = 1; got > 0 && size < text.size();) {
        got = ::read(fd, text.data() + size, text.size() - size);
        if (got > 0) size += static_cast<std::size_t>(got);
    }
    ::close(fd);
    text.resize(size);
    return text;
}

/// Returns the names in a folder that `fit`, sorted. Empty if the folder can't be read.
std::vector<std::string> names_in(const std::string& folder,
                                  const std::function<bool(std::string_view)>& fit) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (std::string name = at->path().filename(); fit(name)) names.push_back(std::move(name));
    std::ranges::sort(names);
    return names;
}

void remove_all(const std::string& path) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
}

/// Removes the oldest reports beyond `keep`, but never `fresh`, even if the clock was set back.
/// Also removes unfinished reports.
void remove_oldest(const std::string& folder, std::uint32_t keep, std::string_view fresh) {
    std::vector<std::string> ids = names_in(folder, is_crash_id);
    std::erase(ids, fresh);
    const std::size_t stay = keep > 0 ? keep - 1 : 0;
    if (ids.size() > stay)
        ids.resize(ids.size() - stay);
    else
        ids.clear();
    for (const std::string& id : ids) remove_all(path_of(folder, id));
    for (const std::string& name :
         names_in(folder, [](std::string_view name) { return name.starts_with(unfinished_mark); }))
        remove_all(path_of(folder, name));
}

std::string_view last_lines(std::string_view log) {
    if (log.size() <= CrashReport::log_max) return log;
    log.remove_prefix(log.size() - CrashReport::log_max);
    const std::size_t end = log.find('\n');
    return end == std::string_view::npos ? log : log.substr(end + 1);
}

std::expected<void, std::string> write_files(const std::string& path, std::string_view id,
                                             const CrashReport& report) {
    if (auto made = make_folder(path); !made) return made;
    if (auto done = write_file(path + "/report.json", crash_json(id, report)); !done) return done;
    if (auto done = write_file(path + "/log.txt", last_lines(report.log)); !done) return done;
    for (std::size_t i = 0; i < report.inputs.size(); ++i) {
        auto done = write_file(path + "/" + input_name(report, i), report.inputs[i].body);
        if (!done) return done;
    }
    return {};
}

/// Returns an id that no folder has yet.
std::string free_id(const std::string& folder, const CrashReport& report) {
    const std::string base = crash_id(report);
    std::string id = base;
    struct stat info{};
    for (int n = 2; ::lstat(path_of(folder, id).c_str(), &info) == 0 && n < 1000; ++n)
        id = base + std::to_string(-n);
    return id;
}

void append_count(JsonWriter& json, std::string_view name, const std::optional<Bytes>& bytes) {
    json.key(name);
    bytes ? json.value(bytes->count) : json.value(nullptr);
}

void append_number(JsonWriter& json, std::string_view name, const std::optional<int>& number) {
    json.key(name);
    number ? json.value(*number) : json.value(nullptr);
}

void append_inputs(JsonWriter& json, const CrashReport& report) {
    json.key("inputs"), json.open_array();
    for (std::size_t i = 0; i < report.inputs.size(); ++i) {
        const CrashInput& input = report.inputs[i];
        json.open_object();
        json.member("job", input.job);
        json.member("request", input.request);
        json.text_or_null("content_type", input.content_type);
        json.member("bytes", input.body.size());
        json.member("cut", input.is_cut);
        json.member("file", input_name(report, i));
        json.close_object();
    }
    json.close_array();
}

/// True if we wrote this file and it is complete. Then a page may contain it as it is.
bool is_report(std::string_view json, std::string_view id) {
    return json.starts_with("{\"id\":\"" + std::string(id) + "\"") && json.ends_with("}\n");
}

/// Returns the members of a report as crash_json() writes it, without the braces around them.
std::string_view members_in(std::string_view json) {
    CHECK(json.starts_with('{') && json.ends_with("}\n"));
    return json.substr(1, json.size() - std::string_view("{}\n").size());
}

/// Returns the last line of stderr in a log of lines like "err text\n"; if there is none, the last
/// line of stdout. Empty if the log has neither.
std::string_view last_line_in(std::string_view log) {
    std::string_view out;
    while (!log.empty()) {
        if (log.ends_with('\n')) log.remove_suffix(1);
        const std::size_t end = log.rfind('\n');
        const std::size_t begin = end == std::string_view::npos ? 0 : end + 1;
        const std::string_view line = log.substr(begin);
        log.remove_suffix(line.size());
        if (line.size() <= stream_mark) continue;
        if (line.starts_with("err ")) return line.substr(stream_mark);
        if (out.empty() && line.starts_with("out ")) out = line.substr(stream_mark);
    }
    return out;
}

}  // namespace

// ── as text ──────────────────────────────────────────────────────────────────────────────────────

std::string crash_id(const CrashReport& report) {
    std::string utc;
    append_utc(utc, report.unix_ns);
    std::string id;
    for (const char c : utc)
        if (c == 'T' || c == '.')
            id += '-';
        else if (c != '-' && c != ':' && c != 'Z')
            id += c;
    return id + "-lane" + std::to_string(report.lane) + "-" + std::to_string(report.pid);
}

bool is_crash_id(std::string_view text) {
    return is_plain_name(text) && text[0] >= '0' && text[0] <= '9';
}

std::string crash_json(std::string_view id, const CrashReport& report) {
    std::string out;
    std::string time;
    append_utc(time, report.unix_ns);
    JsonWriter json(out);
    json.open_object();
    json.member("id", id);
    json.member("time", time);
    json.member("lane", report.lane);
    json.member("pool", report.pool);
    json.member("generation", report.generation);
    json.member("pid", report.pid);
    json.member("command", report.command);
    json.key("gpus"), json.open_array();
    for (const std::string& gpu : report.gpus) json.value(gpu);
    json.close_array();
    json.member("why", report.why);
    json.member("how", report.how);
    append_number(json, "exit_code", report.exit_code);
    append_number(json, "signal", report.signal);
    json.member("lived_s", report.lived);
    append_count(json, "memory_peak_bytes", report.memory_peak);
    append_count(json, "gpu_memory_used_bytes", report.gpu_memory_used);
    json.text_or_null("oom", report.oom_line);
    json.text_or_null("last_line", last_line_in(report.log));
    append_inputs(json, report);
    json.close_object();
    return out + "\n";
}

std::string crash_page(std::string_view json, std::string_view log,
                       const std::vector<std::string>& files) {
    std::string page;
    JsonWriter writer(page);
    writer.open_object();
    writer.members(members_in(json));
    writer.member("log", last_lines(log));
    writer.key("files"), writer.open_array();
    for (const std::string& file : files) writer.value(file);
    writer.close_array();
    writer.close_object();
    return page + "\n";
}

// ── on the disk ──────────────────────────────────────────────────────────────────────────────────

std::expected<std::string, std::string> write_crash_report(const std::string& folder,
                                                           const CrashReport& report,
                                                           std::uint32_t keep) {
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        return wrong("make the folder", folder, errno);
    std::string id = free_id(folder, report);
    const std::string unfinished = folder + "/" + std::string(unfinished_mark) + id;
    remove_all(unfinished);
    if (auto filled = write_files(unfinished, id, report); !filled) {
        remove_all(unfinished);
        return Wrong(std::move(filled.error()));
    }
    const std::string place = folder + "/" + id;
    if (::rename(unfinished.c_str(), place.c_str()) != 0) {
        const int error = errno;
        remove_all(unfinished);
        return wrong("make the folder", place, error);
    }
    remove_oldest(folder, keep, id);
    return id;
}

std::vector<CrashSummary> list_crash_reports(const std::string& folder) {
    std::vector<std::string> ids = names_in(folder, is_crash_id);
    std::vector<CrashSummary> found;
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
        std::string json = read_file(folder + "/" + *id + "/report.json");
        if (is_report(json, *id)) found.push_back({.id = *id, .json = std::move(json)});
    }
    return found;
}

std::optional<std::string> read_crash_report(const std::string& folder, const std::string& id) {
    if (!is_crash_id(id)) return std::nullopt;
    const std::string path = folder + "/" + id;
    const std::string json = read_file(path + "/report.json");
    if (!is_report(json, id)) return std::nullopt;
    std::vector<std::string> files;
    for (const std::string& name : names_in(path, [](std::string_view) { return true; }))
        files.push_back(path_of(path, name));
    return crash_page(json, read_file(path + "/log.txt"), files);
}

}  // namespace turnpike
