#include "wire/conversation.h"

#include "base/check.h"

namespace turnpike::wire {

void Conversation::sent(std::uint64_t job) {
    CHECK(is_ready() && job != 0);
    jobs_.add(job);
}

void Conversation::pinged(std::uint64_t number) { pings_.add(number); }
void Conversation::asked_stacks(std::uint64_t number) { stacks_.add(number); }

void Conversation::paused(std::uint64_t job) {
    JobState* const state = jobs_.find(job);
    if (state == nullptr || state->is_paused) return;
    state->is_paused = true;
    state->after_pause = 0;
}

void Conversation::resumed(std::uint64_t job) {
    if (JobState* const state = jobs_.find(job)) state->is_paused = false;
}

Breach Conversation::heard(const WorkerFrame& frame) {
    if (breach_ != Breach::none) return breach_;
    const bool is_greeting = std::holds_alternative<Hello>(frame);
    if (stage_ == Stage::silent && !is_greeting) return breach_ = Breach::hello_missing;
    return breach_ = std::visit([&](const auto& one) { return judge(one); }, frame);
}

Breach Conversation::judge(const Hello& hello) {
    if (stage_ != Stage::silent) return Breach::hello_again;
    if (hello.version_min > version || hello.version_max < version)
        return Breach::no_common_version;
    stage_ = Stage::loading;
    return Breach::none;
}

Breach Conversation::judge(const Loading&) {
    return stage_ == Stage::ready ? Breach::loading_after_ready : Breach::none;
}

Breach Conversation::judge(const Ready&) {
    if (stage_ == Stage::ready) return Breach::ready_again;
    stage_ = Stage::ready;
    return Breach::none;
}

Breach Conversation::judge(const Progress& progress) {
    return jobs_.find(progress.id) == nullptr ? Breach::job_not_aboard : Breach::none;
}

Breach Conversation::judge(const Begin& begin) {
    JobState* const state = jobs_.find(begin.id);
    if (state == nullptr) return Breach::job_not_aboard;
    if (state->is_streaming) return Breach::begin_again;
    state->is_streaming = true;
    return Breach::none;
}

Breach Conversation::judge(const Chunk& chunk) {
    JobState* const state = jobs_.find(chunk.id);
    if (state == nullptr) return Breach::job_not_aboard;
    if (!state->is_streaming) return Breach::chunk_before_begin;
    if (!state->is_paused) return Breach::none;
    state->after_pause += chunk.bytes.size();
    return state->after_pause > after_pause_max ? Breach::pause_ignored : Breach::none;
}

Breach Conversation::judge(const Done& done) {
    const JobState* const state = jobs_.find(done.id);
    if (state == nullptr) return Breach::job_not_aboard;
    if (state->is_streaming != (done.status == 0))
        return state->is_streaming ? Breach::status_again : Breach::status_missing;
    jobs_.remove(done.id);
    return Breach::none;
}

Breach Conversation::judge(const Failed& failed) {
    return jobs_.remove(failed.id) ? Breach::none : Breach::job_not_aboard;
}

Breach Conversation::judge(const Pong& pong) {
    return pings_.remove(pong.id) ? Breach::none : Breach::pong_unasked;
}

Breach Conversation::judge(const Log&) { return Breach::none; }

Breach Conversation::judge(const Stacks& stacks) {
    return stacks_.remove(stacks.id) ? Breach::none : Breach::stacks_unasked;
}

}  // namespace turnpike::wire
