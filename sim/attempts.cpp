// Jobs aboard. The job's script and the curses of the lane decide how each attempt goes. An attempt
// that has left its worker (answered, cancelled, or the worker is dead) sends no more events.
#include <algorithm>
#include <utility>
#include <vector>

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
        case Ending::goes_stale: return Verdict::stale;
        case Ending::dumps_core: return Verdict::broken;
        case Ending::falls_short: return Verdict::shortage;
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

bool Workers::is_blocked(const Worker& worker, AttemptId attempt) {
    if (worker.is_dumping_core) return true;
    const auto blocker = std::ranges::find(worker.aboard, true, &Aboard::blocks);
    return blocker != worker.aboard.end() && blocker->attempt != attempt;
}

bool Workers::has_blocked_worker() const {
    return std::ranges::any_of(workers_, [](const auto& entry) {
        const Worker& worker = entry.second;
        return worker.life == Life::up && !worker.has_survived_kill && is_blocked(worker);
    });
}

void Workers::remove(Worker& worker, AttemptId attempt) {
    const Aboard* aboard = find_aboard(worker, attempt);
    if (aboard == nullptr) return;
    const bool blocked = aboard->blocks;
    std::erase_if(worker.aboard, [&](const Aboard& it) { return it.attempt == attempt; });
    if (!blocked) return;
    Random luck = stage_.random(Topic::block, worker.key, attempt.value);
    for (Agenda::Act& act : std::exchange(worker.held, {}))
        stage_.after(between(luck, 0ms, 30ms), worker.key, std::move(act));
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
    const Aboard aboard{.attempt = action.attempt,
                        .job = action.job,
                        .number = action.number,
                        .blocks = client->script->blocks};
    worker->aboard.push_back(aboard);
    if (action.batch_index == 0) batch_run_ = client->script->run;
    run(action.worker, action.attempt, course_of(*worker, aboard, *client), 0);
}

Workers::Course Workers::course_of(const Worker& worker, const Aboard& aboard,
                                   const Clients::Client& client) {
    const std::uint64_t key = mix(client.key, aboard.number);
    Random luck = stage_.random(Topic::attempt, client.key, aboard.number);
    const Duration quick = between(luck, 0ms, 5ms);
    Course course{.parts = client.script->stream_parts,
                  .ending = ending_of(worker, aboard, client)};
    Random talk = stage_.random(Topic::native, client.key, aboard.number);
    if (stage_.plan().is_native(worker.lane) && talk.chance(25))
        course.reports = static_cast<std::uint32_t>(talk.between(1, 4));
    if (course.ending == Ending::never_arrives || course.ending == Ending::goes_stale ||
        course.ending == Ending::falls_short)
        course.parts = course.reports = 0;
    Duration run_time = batch_run_;  // all jobs of a batch run equally long
    if (is_cursed(worker, CurseKind::fails_everything, key))
        course = {.ending = luck.chance(80) ? Ending::fails : Ending::non_finite}, run_time = quick;
    const bool does_run_to_its_end =
        course.ending == Ending::answers || course.ending == Ending::hangs;
    if (!does_run_to_its_end) run_time = run_time * luck.between(0, 4) / 4;
    if (course.ending == Ending::goes_stale && luck.chance(70)) run_time = quick;
    course.step = run_time / (course.reports + course.parts + 1);
    return course;
}

/// Returns how the attempt ends: as its script says, unless a curse of the lane says otherwise. The
/// worst curse wins.
Ending Workers::ending_of(const Worker& worker, const Aboard& aboard,
                          const Clients::Client& client) const {
    const JobScript& script = *client.script;
    const std::uint64_t key = mix(client.key, aboard.number);
    Ending ending = aboard.number <= script.ending_times ? script.ending : Ending::answers;
    if (is_cursed(worker, CurseKind::link_stale, key) && (aboard.number == 1 || key % 16 == 0))
        ending = Ending::goes_stale;
    if (ending == Ending::goes_stale && !may_go_stale(worker, key)) ending = Ending::answers;
    if (is_cursed(worker, CurseKind::link_breaks, key)) ending = Ending::breaks_link;
    if (ending == Ending::breaks_link && key % 3 == 0) ending = Ending::never_arrives;
    if (is_cursed(worker, CurseKind::gate_is_short, key)) ending = Ending::falls_short;
    const bool crashes = is_cursed(worker, CurseKind::crashes, key);
    const bool kills = is_cursed(worker, CurseKind::kills_all, key);
    const bool dumps = stage_.random(Topic::dump, client.key, aboard.number).chance(15);
    if (crashes) ending = dumps ? Ending::dumps_core : Ending::kills_worker;
    if (is_cursed(worker, CurseKind::runs_out_of_memory, key)) ending = Ending::out_of_memory;
    if (is_cursed(worker, CurseKind::hangs, key)) ending = Ending::hangs;
    if (kills) ending = dumps ? Ending::dumps_core : Ending::kills_worker;
    return ending;
}

/// Without retries connections are not reused. Then a worker rarely says `stale`, and lies.
bool Workers::may_go_stale(const Worker& worker, std::uint64_t key) const {
    if (stage_.plan().is_native(worker.lane)) return false;
    return stage_.plan().settings_of(worker.lane).may_retry || key % 20 == 0;
}

void Workers::run(WorkerId id, AttemptId attempt, const Course& course, std::uint32_t part) {
    stage_.after(course.step, find(id)->key,
                 [this, id, attempt, course, part] { go_on(id, attempt, course, part); });
}

void Workers::go_on(WorkerId id, AttemptId attempt, const Course& course, std::uint32_t part) {
    Worker* runner = find_living(id);
    const Aboard* aboard = runner == nullptr ? nullptr : find_aboard(*runner, attempt);
    if (aboard == nullptr) return;
    if (is_blocked(*runner, attempt)) {
        runner->held.emplace_back(
            [this, id, attempt, course, part] { go_on(id, attempt, course, part); });
        return;
    }
    const bool is_over = part == course.reports + course.parts;
    if (is_over)
        return aboard->is_closed ? end_closed(id, attempt, course.ending)
                                 : end(id, attempt, course.ending);
    if (aboard->is_closed) return run(id, attempt, course, part + 1);
    if (part == course.reports)
        stage_.tell(AnswerBegun{.worker = id, .attempt = attempt});
    else
        stage_.tell(AnswerMoved{.worker = id, .attempt = attempt});
    if (find(id) != nullptr) run(id, attempt, course, part + 1);
}

void Workers::end(WorkerId id, AttemptId attempt, Ending ending) {
    switch (ending) {
        case Ending::kills_worker: return exit(id);
        case Ending::dumps_core: return dump_core(id, attempt);
        case Ending::hangs: return;
        case Ending::misbehaves: return stage_.tell(WorkerMisbehaved{id});
        case Ending::answers:
        case Ending::bad_input:
        case Ending::fails:
        case Ending::non_finite:
        case Ending::out_of_memory:
        case Ending::unhealthy:
        case Ending::breaks_link:
        case Ending::never_arrives:
        case Ending::falls_short:
        case Ending::goes_stale: return answer(id, attempt, verdict_of(ending));
    }
}

/// The worker is done with an exchange that was closed. Nobody learns of that, except that the
/// worker may die; but once the faults are over, only jobs that the engine knows of kill.
void Workers::end_closed(WorkerId id, AttemptId attempt, Ending ending) {
    if (ending == Ending::hangs) return;
    const bool may_kill = stage_.now() < stage_.calm_at();
    if (ending == Ending::kills_worker && may_kill) return exit(id);
    if (ending == Ending::dumps_core && may_kill) return dump_core(id, attempt);
    remove(*find(id), attempt);
}

/// The link of the job breaks, mostly together with all others, and the worker exits some time
/// later. Meanwhile it does nothing.
void Workers::dump_core(WorkerId id, AttemptId killer) {
    Worker& worker = *find(id);
    if (worker.is_dumping_core) return;
    Random luck = stage_.random(Topic::dump, worker.key);
    const Duration takes = between(luck, 250ms, 3s);
    const bool do_all_break = luck.chance(60);
    worker.is_dumping_core = true;
    after(takes, worker, &Workers::exit);
    std::vector<AttemptId> broken;
    for (const Aboard& aboard : worker.aboard)
        if (!aboard.is_closed && (do_all_break || aboard.attempt == killer))
            broken.push_back(aboard.attempt);
    for (const AttemptId attempt : broken) {
        Worker* dying = find_living(id);
        if (dying == nullptr || find_aboard(*dying, attempt) == nullptr) continue;
        remove(*dying, attempt);
        stage_.tell(AttemptEnded{.worker = id, .attempt = attempt, .verdict = Verdict::broken});
    }
}

void Workers::answer(WorkerId id, AttemptId attempt, Verdict verdict) {
    Worker& worker = *find(id);
    const std::uint64_t key = mix(worker.key, attempt.value);
    remove(worker, attempt);
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
    const WorkerId id = action.worker;
    const AttemptId attempt = action.attempt;
    if (!stage_.plan().is_native(worker->lane))
        return stage_.after(0ms, worker->key, [this, id, attempt] { close(id, attempt); });
    const Clients::Client& client = *clients_.find(aboard->job);
    if (client.script->ignores_cancel || client.script->blocks) return;
    Random luck = stage_.random(Topic::cancel, client.key, aboard->number);
    const bool is_deaf = is_cursed(*worker, CurseKind::hangs, client.key) && luck.chance(50);
    if (is_deaf) return;
    const Duration soon = between(luck, 0ms, luck.chance(80) ? 30ms : 1s);
    stage_.after(soon, worker->key, [this, id, attempt] { end_cancelled(id, attempt); });
}

/// A native worker ends a job that it was told to cancel.
void Workers::end_cancelled(WorkerId id, AttemptId attempt) {
    Worker* worker = find_living(id);
    if (worker == nullptr || find_aboard(*worker, attempt) == nullptr) return;
    if (!is_blocked(*worker, attempt)) return answer(id, attempt, Verdict::cancelled);
    worker->held.emplace_back([this, id, attempt] { end_cancelled(id, attempt); });
}

/// The shell closes an exchange over HTTP. Some workers notice and stop, most go on computing.
void Workers::close(WorkerId id, AttemptId attempt) {
    Worker* worker = find_living(id);
    Aboard* aboard = worker == nullptr ? nullptr : find_aboard(*worker, attempt);
    if (aboard == nullptr) return;
    aboard->is_closed = true;
    const Clients::Client& client = *clients_.find(aboard->job);
    const bool may_notice =
        !client.script->ignores_cancel && !aboard->blocks && !worker->is_dumping_core;
    Random luck = stage_.random(Topic::cancel, client.key, aboard->number);
    if (may_notice && luck.chance(30)) remove(*worker, attempt);
    stage_.tell(AttemptEnded{.worker = id, .attempt = attempt, .verdict = Verdict::closed});
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
