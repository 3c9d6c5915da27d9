#include "os/process.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>

#include "base/leading_number.h"

namespace turnpike {
namespace {

std::string path_in(pid_t pid, std::string_view file) {
    return "/proc/" + std::to_string(pid) + '/' + std::string(file);
}

/// Returns at most `max` bytes of the file. Empty if it can't be read.
std::string contents_of(const std::string& path, std::size_t max) {
    return read_file(path, max).value_or("");
}

/// Returns the n-th word, counted from 0.
std::string_view word(std::string_view text, std::size_t n) {
    for (; n > 0; --n) {
        const std::size_t space = text.find(' ');
        if (space == std::string_view::npos) return {};
        text.remove_prefix(space + 1);
    }
    return text.substr(0, text.find(' '));
}

/// Parses "4711 (name (with anything)) S 1 …". The name ends at the last parenthesis.
std::optional<ProcessFacts> parse_stat(std::string_view stat) {
    constexpr std::size_t start_word = 19;  // after the name: state is 0, the parent 1
    const std::size_t open = stat.find('(');
    const std::size_t close = stat.rfind(") ");
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
        return std::nullopt;
    const std::string_view rest = stat.substr(close + 2);
    ProcessFacts facts;
    facts.id = {.pid = leading_number<pid_t>(stat),
                .start = leading_number<std::uint64_t>(word(rest, start_word))};
    facts.parent = leading_number<pid_t>(word(rest, 1));
    facts.state = rest.empty() ? '?' : rest.front();
    facts.name = stat.substr(open + 1, close - open - 1);
    return facts;
}

constexpr std::size_t stat_max = 1024;

/// Appends every process that we can see. Returns the first shortage that kept us from seeing one; a
/// process that is gone is none.
Shortage append_processes(std::vector<ProcessFacts>& found) {
    Shortage shortage = Shortage::none;
    const auto note = [&shortage](int error) {
        if (shortage == Shortage::none) shortage = shortage_behind(error);
    };
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
    if (!folder) note(errno);
    while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
        if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
        const auto stat =
            read_file(path_in(leading_number<pid_t>(entry->d_name), "stat"), stat_max);
        if (!stat) note(errno);
        if (auto facts = parse_stat(stat.value_or(""))) found.push_back(std::move(*facts));
    }
    return shortage;
}

}  // namespace

std::optional<ProcessFacts> read_process(pid_t pid) {
    return parse_stat(contents_of(path_in(pid, "stat"), stat_max));
}

std::vector<ProcessFacts> list_processes() {
    std::vector<ProcessFacts> found;
    std::ignore = append_processes(found);
    return found;
}

std::expected<std::vector<ProcessFacts>, Shortage> try_list_processes() {
    std::vector<ProcessFacts> found;
    const Shortage shortage = append_processes(found);
    if (shortage != Shortage::none) return std::unexpected(shortage);
    return found;
}

std::vector<ProcessFacts> descendants_of(pid_t root, std::span<const ProcessFacts> all,
                                         std::span<const pid_t> except) {
    std::multimap<pid_t, const ProcessFacts*> children;
    for (const ProcessFacts& facts : all) children.emplace(facts.parent, &facts);
    std::vector<ProcessFacts> below;
    std::vector<pid_t> parents{root};
    while (!parents.empty()) {
        const auto [first, last] = children.equal_range(parents.back());
        parents.pop_back();
        for (auto child = first; child != last; ++child) {
            if (std::ranges::find(except, child->second->id.pid) != except.end()) continue;
            below.push_back(*child->second);
            parents.push_back(child->second->id.pid);
        }
    }
    return below;
}

std::vector<pid_t> own_children() {
    constexpr std::size_t list_max = 65536;
    const std::string list = contents_of("/proc/thread-self/children", list_max);
    std::vector<pid_t> children;
    for (std::string_view left = list; !left.empty();) {
        const std::size_t space = std::min(left.find(' '), left.size() - 1);
        if (const auto pid = leading_number<pid_t>(left); pid > 0) children.push_back(pid);
        left.remove_prefix(space + 1);
    }
    return children;
}

UniqueFd hold_process(const ProcessId& id) {
    UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, id.pid, 0)));
    if (!pidfd) return {};
    const auto now = read_process(id.pid);  // while we hold the pidfd, the pid is not reused
    return now && now->id == id ? std::move(pidfd) : UniqueFd();
}

bool send_signal(const UniqueFd& pidfd, int signal) {
    return pidfd && ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0;
}

bool send_signal(const ProcessId& id, int signal) { return send_signal(hold_process(id), signal); }

std::optional<std::string> variable_of(pid_t pid, std::string_view name) {
    constexpr std::size_t environment_max = 4 * 1024 * 1024;
    const std::string all = contents_of(path_in(pid, "environ"), environment_max);
    const std::string prefix = std::string(name) + '=';
    for (std::size_t at = 0; at < all.size();) {
        const std::string_view entry(all.c_str() + at);
        if (entry.starts_with(prefix)) return std::string(entry.substr(prefix.size()));
        at += entry.size() + 1;
    }
    return std::nullopt;
}

std::string command_of(pid_t pid, std::size_t max) {
    std::string text = contents_of(path_in(pid, "cmdline"), max);
    while (text.ends_with('\0')) text.pop_back();
    std::ranges::replace(text, '\0', ' ');
    if (!text.empty()) return text;
    const auto facts = read_process(pid);
    return facts ? facts->name : "";
}

std::string words_for(const ExitStatus& exit) {
    constexpr int shell_offset =
        128;  // a shell whose program was killed by signal n exits with 128 + n
    if (exit.code == CLD_EXITED) {
        const char* inner =
            exit.status > shell_offset ? ::sigabbrev_np(exit.status - shell_offset) : nullptr;
        return "exit code " + std::to_string(exit.status) +
               (inner != nullptr ? " (SIG" + std::string(inner) + ")" : "");
    }
    if (exit.code == 0) return "it is not known how";
    const char* name = ::sigabbrev_np(exit.status);
    const std::string signal =
        name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(exit.status);
    return "killed by " + signal + (exit.code == CLD_DUMPED ? " (core dumped)" : "");
}

}  // namespace turnpike
