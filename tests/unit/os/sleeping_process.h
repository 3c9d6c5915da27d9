// A process that does nothing and ends with the test.
#pragma once

#include <sched.h>
#include <sys/wait.h>

#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

#include "os/process.h"
#include "os/spawn.h"

namespace turnpike {

class SleepingProcess {
public:
    explicit SleepingProcess(std::vector<std::string> environment = {"WORD=one"}) {
        const auto pid = spawn({.program = "/bin/sleep",
                                .arguments = {"sleep", "1000"},
                                .environment = std::move(environment),
                                .descriptors = {0, 1, 2}});
        if (!pid) throw std::runtime_error("there is no /bin/sleep");
        id_ = read_process(*pid).value().id;
        while (!command_of(*pid).contains("1000")) ::sched_yield();  // exec has not finished yet
    }
    SleepingProcess(const SleepingProcess&) = delete;
    SleepingProcess& operator=(const SleepingProcess&) = delete;
    ~SleepingProcess() { end(); }

    [[nodiscard]] const ProcessId& id() const { return id_; }
    [[nodiscard]] pid_t pid() const { return id_.pid; }

    [[nodiscard]] bool is_killed() const {
        siginfo_t end{};
        return ::waitid(P_PID, static_cast<id_t>(pid()), &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               end.si_pid == pid() && end.si_status == SIGKILL;
    }
    void end() {
        if (id_.pid == 0) return;
        ::kill(id_.pid, SIGKILL);
        ::waitpid(id_.pid, nullptr, 0);
        id_.pid = 0;
    }

private:
    ProcessId id_;
};

}  // namespace turnpike
