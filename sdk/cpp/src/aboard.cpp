#include "aboard.h"

#include <cstdio>

#include "text.h"

namespace turnpike::inside {

Record::Record(Session& its_session, const wire::Job& job)
    : session(its_session),
      id(job.id),
      attempt(job.attempt),
      purpose(job.purpose),
      body(job.body.bytes),
      body_length(job.body.in_descriptor) {
    head.reserve(job.name.size() + job.method.size() + job.target.size() + job.fields.size());
    head.append(job.name).append(job.method).append(job.target).append(job.fields);
    std::string_view left = head;
    const auto take = [&](std::size_t size) {
        const std::string_view taken = left.substr(0, size);
        left.remove_prefix(size);
        return taken;
    };
    name = take(job.name.size());
    method = take(job.method.size());
    const std::string_view target = take(job.target.size());
    fields = left;
    const std::size_t mark = target.find('?');
    path = target.substr(0, mark);
    if (mark != std::string_view::npos) query = target.substr(mark + 1);
    if (path.find('%') != std::string_view::npos) path = decoded_path = percent_decoded(path);
}

bool Aboard::add(Record& record) {
    const std::lock_guard lock(lock_);
    return records_.emplace(record.id, &record).second;
}

void Aboard::end(Record& record) {
    const std::lock_guard lock(lock_);
    record.has_ended = true;
    records_.erase(record.id);
    changed_.notify_all();  // a thread of the model may wait to write more
}

void Aboard::mark_running(const Batch& batch) {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(lock_);
    for (const auto& record : batch) {
        record->is_running = true;
        record->thread = ::pthread_self();
        record->since = now;
    }
}

Record* Aboard::find(std::uint64_t id) {
    const auto found = records_.find(id);
    return found == records_.end() ? nullptr : found->second;
}

void Aboard::cancel(std::uint64_t id) {
    const std::lock_guard lock(lock_);
    if (Record* const record = find(id)) record->is_cancelled = true;
    changed_.notify_all();
}

void Aboard::pause(std::uint64_t id) {
    const std::lock_guard lock(lock_);
    if (Record* const record = find(id)) record->is_paused = true;
}

void Aboard::resume(std::uint64_t id) {
    const std::lock_guard lock(lock_);
    if (Record* const record = find(id)) record->is_paused = false;
    changed_.notify_all();
}

bool Aboard::wait_while_paused(const Record& record) {
    if (record.is_paused && !record.is_cancelled) {
        std::unique_lock lock(lock_);
        changed_.wait(lock,
                      [&] { return !record.is_paused || record.is_cancelled || record.has_ended; });
    }
    return !record.is_cancelled;
}

std::vector<Aboard::Running> Aboard::running() {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(lock_);
    std::vector<Running> found;
    for (const auto& [id, record] : records_) {
        if (!record->is_running) continue;
        char seconds[32];
        std::snprintf(seconds, sizeof seconds, "%.3f s",
                      std::chrono::duration<double>(now - record->since).count());
        found.push_back({.what = "job " + std::string(record->name) + ", " +
                                 std::string(record->method) + " " + std::string(record->path) +
                                 ", for " + seconds + (record->is_cancelled ? ", cancelled" : ""),
                         .thread = record->thread});
    }
    return found;
}

}  // namespace turnpike::inside
