// The commands as values: what the command line asks for, before anything is done. run() carries a
// command out and returns the exit code (exit_code.h). Each overload is in the file of its command.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/config.h"
#include "gate/keys.h"

namespace turnpike {

struct UpCommand {
    std::optional<std::string> config;  // MODEL as it was written, if at all
    Flags flags;
    std::string name = "default";
    bool detach = false;
    std::optional<int> ready_fd;     // where a detached gate writes its address once it listens
    std::vector<std::string> words;  // the whole command line
};

struct CheckCommand {
    std::optional<std::string> config;
    Flags flags;
    bool example = false;
    bool json = false;
};

struct StatusCommand {
    std::optional<std::string> gate;  // its name; needed if several gates run
    bool clients = false;             // show the clients instead of the lanes
    bool json = false;
};

struct JobsCommand {
    std::optional<std::string> gate;
    std::size_t last = 20;  // how many ended jobs are shown
    bool json = false;
};

struct CancelCommand {
    std::optional<std::string> gate;
    std::string job;
    bool json = false;
};

struct LogsCommand {
    std::optional<std::string> gate;
    std::optional<std::string> lane;  // every lane if not given
    std::size_t lines = 200;          // for all lanes together
    bool follow = false;
    bool json = false;
};

struct CrashesCommand {
    std::optional<std::string> gate;
    std::optional<std::string> id;
    bool json = false;
};

struct RestartCommand {
    std::optional<std::string> gate;
    std::string what;  // the number of a lane, the name of a pool, or "all"
    bool json = false;
};

struct ReloadCommand {
    std::optional<std::string> gate;
    std::optional<std::string> pool;  // every pool whose workers we start if not given
    bool accept = false;
    bool no_wait = false;
    bool json = false;
};

struct DrainCommand {
    std::optional<std::string> gate;
    std::string lane;
    bool json = false;
};

struct ResumeCommand {
    std::optional<std::string> gate;
    std::string lane;
    bool json = false;
};

struct ProveCommand {
    std::optional<std::string> gate;
    std::optional<std::string> pool;  // every pool that has a proof if not given
    bool accept = false;              // even if another answer is recorded
    bool no_record = false;
    bool json = false;
};

struct StacksCommand {
    std::optional<std::string> gate;
    std::string lane;
    bool json = false;
};

struct DownCommand {
    std::optional<std::string> gate;
    bool now = false;  // do not wait for its jobs
    bool json = false;
};

struct KeyNewCommand {
    std::string name;
    Access access = Access::plain;
    KeyLimits limits;
    bool is_confirmed = false;  // make even the first key of a running gate without asking
};

struct KeyListCommand {
    bool json = false;
};

struct KeyRevokeCommand {
    std::string name;
};

struct DoctorCommand {
    bool json = false;
};

struct VersionCommand {
    bool json = false;
};

using Command =
    std::variant<UpCommand, CheckCommand, StatusCommand, JobsCommand, CancelCommand, LogsCommand,
                 CrashesCommand, RestartCommand, ReloadCommand, DrainCommand, ResumeCommand,
                 ProveCommand, StacksCommand, DownCommand, KeyNewCommand, KeyListCommand,
                 KeyRevokeCommand, DoctorCommand, VersionCommand>;

int run(const UpCommand&);
int run(const CheckCommand&);
int run(const StatusCommand&);
int run(const JobsCommand&);
int run(const CancelCommand&);
int run(const LogsCommand&);
int run(const CrashesCommand&);
int run(const RestartCommand&);
int run(const ReloadCommand&);
int run(const DrainCommand&);
int run(const ResumeCommand&);
int run(const ProveCommand&);
int run(const StacksCommand&);
int run(const DownCommand&);
int run(const KeyNewCommand&);
int run(const KeyListCommand&);
int run(const KeyRevokeCommand&);
int run(const DoctorCommand&);
int run(const VersionCommand&);

}  // namespace turnpike
