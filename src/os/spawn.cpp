#include "os/spawn.h"

#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>

namespace turnpike {
namespace {

/// Returns pointers to the texts and a null pointer at the end, as exec expects.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

/// Describes what happens in the child before the program runs.
class Preparation {
public:
    explicit Preparation(const std::vector<int>& descriptors) {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawnattr_init(&attributes_);
        for (std::size_t i = 0; i < descriptors.size(); ++i)
            ::posix_spawn_file_actions_adddup2(&actions_, descriptors[i], static_cast<int>(i));
        ::posix_spawn_file_actions_addclosefrom_np(&actions_, static_cast<int>(descriptors.size()));
        sigset_t none{};
        sigset_t all{};
        ::sigemptyset(&none);
        ::sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
        ::posix_spawnattr_setflags(
            &attributes_, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    ~Preparation() {
        ::posix_spawn_file_actions_destroy(&actions_);
        ::posix_spawnattr_destroy(&attributes_);
    }
    Preparation(const Preparation&) = delete;
    Preparation& operator=(const Preparation&) = delete;

    [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &actions_; }
    [[nodiscard]] const posix_spawnattr_t* attributes() const { return &attributes_; }

private:
    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

bool is_named(std::string_view entry, std::string_view name) {
    return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
}

}  // namespace

std::expected<pid_t, int> spawn(const SpawnSpec& spec) {
    const Preparation preparation(spec.descriptors);
    const std::vector<char*> arguments = pointers_to(spec.arguments);
    const std::vector<char*> environment = pointers_to(spec.environment);
    pid_t pid = 0;
    const int error =
        ::posix_spawnp(&pid, spec.program.c_str(), preparation.actions(), preparation.attributes(),
                       arguments.data(), environment.data());
    if (error != 0) return std::unexpected(error);
    return pid;
}

std::vector<std::string> own_environment() {
    std::vector<std::string> entries;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
        entries.emplace_back(*entry);
    return entries;
}

std::string value_of(const std::vector<std::string>& environment, std::string_view name) {
    for (const std::string& entry : environment)
        if (is_named(entry, name)) return entry.substr(name.size() + 1);
    return {};
}

bool has_variable(const std::vector<std::string>& environment, std::string_view name) {
    return std::ranges::any_of(environment,
                               [&](const std::string& entry) { return is_named(entry, name); });
}

void set_variable(std::vector<std::string>& environment, std::string_view name,
                  std::string_view value) {
    std::erase_if(environment, [&](const std::string& entry) { return is_named(entry, name); });
    environment.push_back(std::string(name) + '=' + std::string(value));
}

}  // namespace turnpike
