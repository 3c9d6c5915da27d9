// The jobs aboard: what came of each, and what the gate has ordered since.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sealed.h"
#include "wire/frame.h"

namespace turnpike::inside {

class Session;

/// One job. Its views point into `head`, or into `decoded_path`. The model may keep it beyond its end.
struct Record : std::enable_shared_from_this<Record> {
    Record(Session& its_session, const wire::Job& job);

    Session& session;
    std::uint64_t id;
    int attempt;
    wire::Purpose purpose;
    std::string head;
    std::string_view name, method, path, query, fields;
    std::string decoded_path;  // where the path has a %
    std::string body;
    Descriptor body_descriptor;  // the body is still in there
    std::uint64_t body_length = 0;

    std::atomic<bool> is_cancelled = false;
    std::atomic<bool> is_paused = false;
    std::atomic<bool> has_ended = false;  // set before its last frame is sent
    bool is_streaming = false;
    std::size_t bytes_since_read = 0;  // bytes of its stream since the last read_orders()
    // Once it runs, under the table's lock:
    bool is_running = false;
    pthread_t thread{};
    std::chrono::steady_clock::time_point since;
};

/// Those that have come together.
using Batch = std::vector<std::shared_ptr<Record>>;

class Aboard {
public:
    /// False: that number is aboard already.
    [[nodiscard]] bool add(Record& record);
    /// Comes right before the last frame about it.
    void end(Record& record);
    /// Its thread is the calling one.
    void mark_running(const Batch& batch);

    // Orders for a job that has just ended are ignored.
    void cancel(std::uint64_t id);
    void pause(std::uint64_t id);
    void resume(std::uint64_t id);

    /// Whether there is still somebody who wants more, once it is not paused any more.
    bool wait_while_paused(const Record& record);

    struct Running {
        std::string what;
        pthread_t thread;
    };
    /// What each job does, in words.
    std::vector<Running> running();

private:
    Record* find(std::uint64_t id);

    std::mutex lock_;
    std::condition_variable changed_;
    std::unordered_map<std::uint64_t, Record*> records_;
};

}  // namespace turnpike::inside
