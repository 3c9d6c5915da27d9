// Jobs aboard. The job's script and the curses of the lane decide how each attempt goes. An attempt
// that has left its worker (answered, cancelled, or the worker is dead) sends no more events.
#include <algorithm>

#include <fmt/format.h>

#include "sim/workers.h"

namespace turnpike::sim {

namespace {

Verdict verdict_of(Ending ending) {
    switch (ending) {
        case Ending::answers: return Verdict::answered;
        case Ending::bad_input: return Verdict::bad_input;
        case Ending::fails: return Verdict::model_failed;
        case Ending::non_finite: return Verdict::non_finite;
        case Ending::out_of_memory: return Verdict::out_of_memory;
        case Ending::unhealthy: return Verdict::unhealthy;
        case Ending::breaks_link: return Verdict::broken;
        case Ending::never_arrives: return Verdict::undelivered;
        case Ending::kills_worker:
        case Ending::misbehaves:
        case Ending::hangs: break;
    }
    return Verdict::answered;
}

}  // namespace

Workers::Aboard* Workers::find_aboard(Worker& worker, AttemptId attempt) {
    const auto aboard = std::ranges::find(worker.aboard, attempt, &Aboard::attempt);
    return aboard == worker.aboard.end() ? nullptr : &*aboard;
}

void Workers::carry_out(const SendJob& action) {
    Worker* worker = find(action.worker);
    const Clients::Client* client = clients_.find(action.job);
    if (worker == nullptr || worker->life != Life::up || worker->is_killed ||
        worker->lane != action.lane)
        return stage_.complain(
            "actions make sense",
            fmt::format("SendJob to worker {}, which is not up", action.worker.value));
    if (client == nullptr || client->has_ended)
        return stage_.complain("actions make sense",
                               fmt::format("SendJob of job {}", action.job.value));
    const Aboard aboard{.attempt = action.attempt, .job = action.job, .number = action.number};
    worker->aboard.push_back(aboard);
    if (action.batch_index == 0) batch_run_ = client->script->run;
    run(action.worker, action.attempt, course_of(*worker, aboard, *client), 0);
}

Workers::Course Workers::course_of(const Worker& worker, const Aboard& aboard,
                                   const Clients::Client& client) {
    const JobScript& script = *client.script;
    const std::uint64_t key = mix(client.key, aboard.number);
    Random luck = stage_.random(Topic::attempt, client.key, aboard.number);
    const Duration quick = between(luck, 0ms, 5ms);
    Course course{.parts = script.stream_parts};
    Random talk = stage_.random(Topic::native, client.key, aboard.number);
    if (stage_.plan().is_native(worker.lane) && talk.chance(25))
        course.reports = static_cast<std::uint32_t>(talk.between(1, 4));
    if (aboard.number <= script.ending_times) course.ending = script.ending;
    if (is_cursed(worker, CurseKind::link_breaks, key)) course.ending = Ending::breaks_link;
    if (course.ending == Ending::breaks_link && key % 3 == 0) {
        course.ending = Ending::never_arrives;
        course.parts = course.reports = 0;
    }
    if (is_cursed(worker, CurseKind::crashes, key)) course.ending = Ending::kills_worker;
    if (is_cursed(worker, CurseKind::runs_out_of_memory, key))
        course.ending = Ending::out_of_memory;
    if (is_cursed(worker, CurseKind::hangs, key)) course.ending = Ending::hangs;
    Duration run_time = batch_run_;  // all jobs of a batch run equally long
    if (is_cursed(worker, CurseKind::fails_everything, key))
        course = {.ending = luck.chance(80) ? Ending::fails : Ending::non_finite}, run_time = quick;
    const bool does_run_to_its_end =
        course.ending == Ending::answers || course.ending == Ending::hangs;
    if (!does_run_to_its_end) run_time = run_time * luck.between(0, 4) / 4;
    course.step = run_time / (course.reports + course.parts + 1);
    return course;
}

void Workers::run(WorkerId id, AttemptId attempt, Course course, std::uint32_t part) {
    const Worker& worker = *find(id);
    stage_.after(course.step, worker.key, [this, id, attempt, course, part] {
        Worker* runner = find_living(id);
        if (runner == nullptr || find_aboard(*runner, attempt) == nullptr) return;
        if (part == course.reports + course.parts) return end(id, attempt, course.ending);
        if (part == course.reports)
            stage_.tell(AnswerBegun{.worker = id, .attempt = attempt});
        else
            stage_.tell(AnswerMoved{.worker = id, .attempt = attempt});
        if (find(id) != nullptr) run(id, attempt, course, part + 1);
    });
}

void Workers::end(WorkerId id, AttemptId attempt, Ending ending) {
    switch (ending) {
        case Ending::kills_worker: return exit(id);
        case Ending::hangs: return;
        case Ending::misbehaves: return stage_.tell(WorkerMisbehaved{id});
        case Ending::answers:
        case Ending::bad_input:
        case Ending::fails:
        case Ending::non_finite:
        case Ending::out_of_memory:
        case Ending::unhealthy:
        case Ending::breaks_link:
        case Ending::never_arrives: return answer(id, attempt, verdict_of(ending));
    }
}

void Workers::answer(WorkerId id, AttemptId attempt, Verdict verdict) {
    Worker& worker = *find(id);
    const std::uint64_t key = mix(worker.key, attempt.value);
    std::erase_if(worker.aboard, [&](const Aboard& aboard) { return aboard.attempt == attempt; });
    const AttemptEnded ended{.worker = id, .attempt = attempt, .verdict = verdict};
    if (is_cursed(worker, CurseKind::answers_twice, attempt.value)) {
        Random luck = stage_.random(Topic::lie, key);
        AttemptEnded again = ended;
        if (luck.chance(50)) again.verdict = Verdict::model_failed;
        stage_.after(between(luck, 0ms, 100ms), key, [this, id, again] {
            if (find_living(id) != nullptr) stage_.tell(again);
        });
    }
    if (is_cursed(worker, CurseKind::answers_for_another, attempt.value))
        answer_for_another(worker);
    stage_.tell(ended);
}

/// Sends an answer for an attempt that another worker has aboard.
void Workers::answer_for_another(const Worker& liar) {
    std::vector<AttemptId> others;
    for (const auto& [id, worker] : workers_)
        if (id != liar.id)
            for (const Aboard& aboard : worker.aboard) others.push_back(aboard.attempt);
    if (others.empty()) return;
    Random luck = stage_.random(Topic::lie, liar.key, others.size());
    const AttemptId stolen = others[luck.below(others.size())];
    stage_.tell(AttemptEnded{.worker = liar.id, .attempt = stolen, .verdict = Verdict::answered});
}

void Workers::carry_out(const CancelAttempt& action) {
    Worker* worker = find(action.worker);
    Aboard* aboard = worker == nullptr ? nullptr : find_aboard(*worker, action.attempt);
    if (aboard == nullptr || aboard->is_cancelled) return;  // it has ended, or its end will come
    aboard->is_cancelled = true;
    const Clients::Client& client = *clients_.find(aboard->job);
    if (client.script->ignores_cancel) return;
    Random luck = stage_.random(Topic::cancel, client.key, aboard->number);
    const bool is_deaf = is_cursed(*worker, CurseKind::hangs, client.key) && luck.chance(50);
    if (is_deaf) return;
    const Duration soon = between(luck, 0ms, luck.chance(80) ? 30ms : 1s);
    stage_.after(soon, worker->key, [this, id = action.worker, attempt = action.attempt] {
        Worker* runner = find_living(id);
        if (runner != nullptr && find_aboard(*runner, attempt) != nullptr)
            answer(id, attempt, Verdict::cancelled);
    });
}

void Workers::answer_after_death(const Worker& worker) {
    for (const Aboard& aboard : worker.aboard) {
        if (!is_cursed(worker, CurseKind::answers_after_death, aboard.attempt.value)) continue;
        const AttemptEnded ended{
            .worker = worker.id, .attempt = aboard.attempt, .verdict = Verdict::answered};
        Random luck = stage_.random(Topic::lie, worker.key, aboard.attempt.value);
        const bool begins = luck.chance(30);
        stage_.after(between(luck, 0ms, 500ms), worker.key, [this, ended, begins] {
            if (begins) stage_.tell(AnswerBegun{.worker = ended.worker, .attempt = ended.attempt});
            stage_.tell(ended);
        });
    }
}

}  // namespace turnpike::sim
