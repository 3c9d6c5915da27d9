// The jobs that this worker has accepted and not ended: their requests, and the gate's orders for
// them.
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

/// One job. Its views point into `head` or `decoded_path`. The model may keep it after the job has
/// ended.
struct Record : std::enable_shared_from_this<Record> {
    Record(Session& its_session, const wire::Job& job);

    Session& session;
    std::uint64_t id;
    int attempt;
    wire::Purpose purpose;
    std::string head;
    std::string_view name, method, path, query, fields;
    std::string decoded_path;  // only if the path has a %
    std::string body;
    Descriptor body_descriptor;  // open while the body is still to be read from it
    std::uint64_t body_length = 0;

    std::atomic<bool> is_cancelled = false;
    std::atomic<bool> is_paused = false;
    std::atomic<bool> has_ended = false;  // set before the last frame is sent
    bool is_streaming = false;
    std::size_t bytes_since_read = 0;  // bytes of the stream since the last read_orders()
    // Set when the job starts to run; under the lock of Aboard:
    bool is_running = false;
    pthread_t thread{};
    std::chrono::steady_clock::time_point since;
};

/// The jobs that the gate sent as one batch.
using Batch = std::vector<std::shared_ptr<Record>>;

class Aboard {
public:
    /// Returns false if there is already a job with this number.
    [[nodiscard]] bool add(Record& record);
    /// Must be called right before the last frame of the job is sent.
    void end(Record& record);
    /// Marks the jobs as running on the calling thread.
    void mark_running(const Batch& batch);

    // Orders for a job that has just ended are ignored.
    void cancel(std::uint64_t id);
    void pause(std::uint64_t id);
    void resume(std::uint64_t id);

    /// Waits while the job is paused. Returns false if the job was cancelled.
    bool wait_while_paused(const Record& record);

    struct Running {
        std::string what;
        pthread_t thread;
    };
    /// Returns what each running job does, in words.
    std::vector<Running> running();

private:
    Record* find(std::uint64_t id);

    std::mutex lock_;
    std::condition_variable changed_;
    std::unordered_map<std::uint64_t, Record*> records_;
};

}  // namespace turnpike::inside
