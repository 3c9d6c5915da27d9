#include "stacks.h"

#include <execinfo.h>
#include <semaphore.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string_view>

#include "failure.h"

namespace turnpike::inside {

namespace {

constexpr int depth_max = 100;
constexpr int frames_of_our_own = 2;  // the frames of the signal
constexpr time_t patience_s = 1;

std::array<void*, depth_max> calls;
int depth = 0;
std::atomic<pthread_t> asked = 0;  // the thread that must answer; it resets this when it does
sem_t told;
int signal_number = 0;

void tell_stack(int) {
    const int error = errno;
    pthread_t me = ::pthread_self();
    if (!asked.compare_exchange_strong(me, 0)) return;
    depth = ::backtrace(calls.data(), depth_max);
    ::sem_post(&told);
    errno = error;
}

bool wait_until_told() {
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += patience_s;
    while (::sem_timedwait(&told, &until) != 0) {
        if (errno == EINTR) continue;
        if (asked.exchange(0) != 0) return false;
        until.tv_sec += patience_s;  // the thread has just begun to answer
    }
    return true;
}

/// Returns the line "program(_ZN4mineEv+0x1f) [0x…]" with a readable name.
std::string readable(std::string_view line) {
    const std::size_t open = line.find('(');
    const std::size_t plus = line.find('+', open);
    if (open == std::string_view::npos || plus == std::string_view::npos || plus == open + 1)
        return std::string(line);
    const std::string name(line.substr(open + 1, plus - open - 1));
    return std::string(line.substr(0, open + 1)) + demangled(name.c_str()) +
           std::string(line.substr(plus));
}

}  // namespace

void prepare_stacks() {
    ::backtrace(calls.data(), 1);  // the first call loads a library: not allowed in a signal
    ::sem_init(&told, 0, 0);
    signal_number = SIGRTMAX - 3;
    struct sigaction action{};
    action.sa_handler = tell_stack;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal_number, &action, nullptr);
}

std::string stack_of(pthread_t thread) {
    asked = thread;
    if (::pthread_kill(thread, signal_number) != 0) {
        asked = 0;
        return "  (the thread has ended)\n";
    }
    if (!wait_until_told()) return "  (the thread does not react to the signal)\n";
    const std::unique_ptr<char*, void (*)(void*)> lines(::backtrace_symbols(calls.data(), depth),
                                                        std::free);
    std::string text;
    for (int at = frames_of_our_own; lines != nullptr && at < depth; ++at)
        text += "  " + readable(lines.get()[at]) + "\n";
    return text;
}

}  // namespace turnpike::inside
